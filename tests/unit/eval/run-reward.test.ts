/** The reward of held-out rows is the run's: its terms, its judge, and what a missing verdict does. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { requireConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { encodeRle } from "../../../src/engine/data/mask/rle.ts";
import { rewardScorer } from "../../../src/engine/rewards/scorer.ts";
import type { JudgeDetail, RewardTerm, RolloutFacts } from "../../../src/engine/rewards/term.ts";
import type { CaptionPair } from "../../../src/engine/rewards/types.ts";
import { parseWordnet, type Wordnet } from "../../../src/engine/rewards/wordnet.ts";
import { rowRewards, runReward, weightedMean } from "../../../src/engine/rl/step/held-out.ts";

let wordnet: Wordnet;
beforeAll(async () => {
  const path = fileURLToPath(new URL("../../../public/wordnet/wordnet30.txt", import.meta.url));
  wordnet = parseWordnet(await readFile(path));
});

const mask = encodeRle([1, 1, 0, 0], 2, 2);
const fact = (loop: 1 | 2, caption: string): RolloutFacts => ({
  loop,
  reference: "a red car",
  caption,
  given: mask,
  predicted: mask,
  confidence: 0.8,
  truncated: false,
});
const facts = (loop: 1 | 2) => ({
  greedy: fact(loop, "a red car"),
  sampled: [fact(loop, "a red car"), fact(loop, "nothing")],
  probabilities: null,
});

const JUDGED = { judge: "questions", judgeUrl: "http://localhost/v1" } as const;

/** Rewards of a row under settings, and what the judge was asked. @param verdict null for one that failed */
async function rewards(
  changes: Partial<LabConfig>,
  verdict: (pair: CaptionPair) => number | null = ({ hypothesis }) => (hypothesis === "nothing" ? 0 : 1),
) {
  const asked: string[] = [];
  const judge = {
    terms: async (pairs: readonly CaptionPair[]): Promise<RewardTerm[]> =>
      pairs.map((pair) => {
        asked.push(pair.hypothesis);
        return {
          name: "judge",
          value: verdict(pair),
          weight: 0,
          judge: { score: verdict(pair), answers: [], calls: 2, cost: 0.5 } as unknown as JudgeDetail,
        };
      }),
  };
  const config = requireConfig(changes);
  const scorer = rewardScorer({ wordnet, judge: () => (config.judge === "off" ? null : judge) });
  const own = runReward(config);
  const rewarded = await rowRewards(scorer, own, { 1: facts(1), 2: facts(2) }, new AbortController().signal);
  return { found: rewarded.rewards, spent: rewarded.judge, asked, judge: own.judge };
}

/** METEOR of three equal words. */
const METEOR = 1 - 0.5 / 27;

describe("the run reward of held-out rows", () => {
  it("asks the judge and counts its verdicts with their weight", async () => {
    const { found, spent, asked, judge } = await rewards(JUDGED);
    expect(judge).toBe("asked");
    expect(spent).toEqual({ calls: 6, cost: 1.5 });
    expect(asked.sort()).toEqual(["a red car", "a red car", "nothing"]);
    expect(found.reward1_sampled).toBe(1);
    expect(found.reward2_greedy).toBeCloseTo(0.25 * METEOR + 0.75, 12);
    expect(found.reward2_sampled).toBeCloseTo((0.25 * METEOR + 0.75) / 2, 12);
  });

  it("without the judge is METEOR in full, and says that the judge was left out", async () => {
    const { found, spent, asked, judge } = await rewards({ ...JUDGED, evalJudge: false });
    expect([judge, asked, spent]).toEqual(["left-out", [], undefined]);
    expect(found.reward2_greedy).toBeCloseTo(METEOR, 12);
  });

  it("has no judge where the settings have none, or no loop that trains counts it", async () => {
    expect((await rewards({})).judge).toBe("none");
    const { judge, asked, found } = await rewards({ ...JUDGED, loops: "1" });
    expect([judge, asked]).toEqual(["none", []]);
    expect([found.reward2_sampled, found.reward2_greedy]).toEqual([null, null]);
  });

  it.each(["drop", "group", "meteor"] as const)(
    "leaves out a rollout without a verdict, also with %s",
    async (missing) => {
      const some = await rewards({ ...JUDGED, missingVerdict: missing }, ({ hypothesis }) =>
        hypothesis === "nothing" ? null : 1,
      );
      expect(some.found.reward2_sampled).toBeCloseTo(0.25 * METEOR + 0.75, 12);
      const none = await rewards({ ...JUDGED, missingVerdict: missing }, () => null);
      expect([none.found.reward2_sampled, none.found.reward2_greedy]).toEqual([null, null]);
    },
  );

  it("waits for a verdict where the settings say pause", async () => {
    await expect(rewards({ ...JUDGED, missingVerdict: "pause" }, () => null)).rejects.toMatchObject({ code: "held" });
  });

  it("weighs samples by their probability", () => {
    expect(weightedMean([1, 0, 0.5], [0.5, 0.25, 0.25])).toBe(0.625);
    expect(weightedMean([1, null, 0.5], [0.5, 0.25, 0.25])).toBeCloseTo(0.625 / 0.75, 12);
    expect(weightedMean([null, null], null)).toBeNull();
  });
});
