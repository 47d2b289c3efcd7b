/** Rewards of the field by hand: answer form, no target, signed banded IoU, caption utility. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { requireConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { encodeRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import { rewardPlan } from "../../../src/engine/rewards/composer/plan.ts";
import { rewardScorer } from "../../../src/engine/rewards/scorer.ts";
import type { JudgeAnswer, RewardTerm, RolloutFacts } from "../../../src/engine/rewards/term.ts";
import { bandedIou, FORM, TARGET, utilityOf } from "../../../src/engine/rewards/terms/registry.ts";
import type { CaptionTermSource } from "../../../src/engine/rewards/types.ts";
import { parseWordnet, type Wordnet } from "../../../src/engine/rewards/wordnet.ts";
import { testJudge } from "../../support/judge.ts";
import { judgeServer } from "../../support/judge-server.ts";

const mask = (cells: string): Rle => encodeRle([...cells].map(Number), 1, cells.length);
const FACTS: RolloutFacts = {
  loop: 1,
  reference: "a red car",
  caption: "a red car",
  given: mask("1100"),
  predicted: mask("0110"),
  confidence: 1,
  truncated: false,
};

let wordnet: Wordnet;
beforeAll(async () => {
  const path = fileURLToPath(new URL("../../../public/wordnet/wordnet30.txt", import.meta.url));
  wordnet = parseWordnet(await readFile(path));
});

const scored = (changes: Partial<LabConfig>, group: readonly RolloutFacts[], judge: CaptionTermSource | null = null) =>
  rewardScorer({ wordnet, judge: () => judge }).scoreGroup(group, rewardPlan(requireConfig(changes)));

describe("the answer's form", () => {
  it.each([
    [1, false, undefined, 1],
    [1, true, undefined, 0],
    [1, false, 0, 1],
    [1, false, 1, 0.5],
    [1, true, 2, 0],
    [2, false, 1, 1],
    [2, false, 0, 0.5],
    [2, false, 2, 0.5],
    [2, true, 1, 0.5],
  ] as const)("loop %i, truncated %s, %s [SEG]: %d", (loop, truncated, segments, value) => {
    const facts = { ...FACTS, loop, truncated, ...(segments === undefined ? {} : { segments }) };
    const measured = FORM.measure(facts);
    expect(measured.value).toBe(value);
    expect(measured.note === undefined).toBe(value === 1);
  });
});

describe("no target", () => {
  const [empty, full] = [mask("0000"), mask("0110")];
  it.each([
    [empty, empty, 1],
    [empty, null, 1],
    [empty, full, 0],
    [full, null, 0],
    [full, empty, 0],
    [full, mask("1001"), 1],
    [null, full, null],
  ])("%j and %j earn %j", (given, predicted, value) => {
    expect(TARGET.measure({ ...FACTS, given, predicted }).value).toBe(value);
  });
});

describe("banded IoU", () => {
  it("is the line between the ends of the band", () => {
    const band = { slope: 4, centre: 0.6, low: -1, high: 0.5 };
    const values = [0, 0.35, 0.5, 0.6, 0.7, 0.725, 1].map((iou) => bandedIou(iou, band));
    for (const [at, value] of [-1, -1, -0.4, 0, 0.4, 0.5, 0.5].entries()) expect(values[at]).toBeCloseTo(value, 12);
  });

  it("is a reward of either loop with the settings' band; no mask counts as IoU 0", async () => {
    const own = { loop1Iou: 0, loop1Banded: 0.5, bandSlope: 3, bandCentre: 0.5, bandLow: -0.4, bandHigh: 2 };
    const group = [FACTS, { ...FACTS, predicted: FACTS.given }, { ...FACTS, predicted: null }];
    const rewards = (await scored(own, group)).map(({ reward }) => reward);
    // IoU 1/3, 1 and none.
    for (const [at, value] of [0.5 * -0.4, 0.5 * 1.5, 0.5 * -0.4].entries()) expect(rewards[at]).toBeCloseTo(value, 12);
    const unknown = await scored(own, [{ ...FACTS, given: null }]);
    expect(unknown[0]).toMatchObject({ reward: null });
  });
});

describe("caption utility", () => {
  const answer = (type: JudgeAnswer["type"], points: number | null): JudgeAnswer => {
    return { type, question: "?", choices: ["a", "b"], choice: points === null ? "Yes" : "a", points };
  };
  const verdict = (score: number | null, answers: readonly JudgeAnswer[]): RewardTerm => ({
    name: "judge",
    value: score,
    weight: 0,
    judge: { score, answers } as unknown as NonNullable<RewardTerm["judge"]>,
  });

  it("is the share of positive questions with the full score; wrong and silent answers are the same", () => {
    const asked = [answer("recognition", null), answer("positive", 1), answer("positive", -1), answer("positive", 0)];
    expect(utilityOf(verdict(0.3, [...asked, answer("positive", 0.5), answer("negative", 1)])).value).toBe(0.25);
    expect(utilityOf(verdict(0, [])).value).toBe(0);
    expect(utilityOf({ ...verdict(null, asked), note: "timeout" })).toEqual({ value: null, note: "timeout" });
  });

  it("comes from the judge's own answers to a caption, asked over its interface without a further call", async () => {
    const server = await judgeServer();
    try {
      const judge = testJudge(server.url, { dlc: true });
      const only = { loop1Iou: 0, loop1Utility: 1 };
      const captions = ["a red car", "a car", ""].map((caption) => ({ ...FACTS, caption }));
      const rewards = await scored(only, captions, judge);
      expect(rewards.map(({ reward }) => reward)).toEqual([1, 0, 0]);
      const calls = server.calls.length;
      await scored({ ...only, loop1Judge: 0.5 }, captions, testJudge(server.url, { dlc: true, cache: judge.cache }));
      expect(server.calls.length).toBe(calls);
    } finally {
      await server.close();
    }
  });

  it("leaves a rollout out where the verdict is missing, and gives METEOR its weight without a judge", async () => {
    const failing: CaptionTermSource = {
      terms: async (pairs) => pairs.map(() => ({ name: "judge", value: null, weight: 0, note: "timeout" })),
    };
    const only = { loop1Iou: 0, loop1Utility: 1 };
    expect((await scored(only, [FACTS], failing))[0]?.reward).toBeNull();
    await expect(scored({ ...only, missingVerdict: "pause" }, [FACTS], failing)).rejects.toMatchObject({
      code: "held",
    });
    const [alone] = await scored(only, [FACTS]);
    expect(alone?.reward).toBeCloseTo(alone?.terms.find(({ name }) => name === "meteor")?.value as number, 12);
    expect(alone?.reward).toBeGreaterThan(0.9);
  });
});
