/** The matrix loop × term: every value worked by hand, and what a missing value does. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { weightKey } from "../../../src/engine/config/groups/reward-weights.ts";
import { defaultConfig, requireConfig } from "../../../src/engine/config/parse.ts";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { encodeRle, type Rle } from "../../../src/engine/data/mask/rle.ts";
import { meanScores } from "../../../src/engine/rewards/composer/compose-group.ts";
import { rewardPlan } from "../../../src/engine/rewards/composer/plan.ts";
import { rewardScorer } from "../../../src/engine/rewards/scorer.ts";
import type { RolloutFacts } from "../../../src/engine/rewards/term.ts";
import {
  boxIou,
  centreOfMass,
  centreScore,
  leakedWords,
  lengthCost,
  repetitionCost,
  TERMS,
} from "../../../src/engine/rewards/terms/registry.ts";
import type { CaptionTermSource, ScoredRollout } from "../../../src/engine/rewards/types.ts";
import { parseWordnet, type Wordnet } from "../../../src/engine/rewards/wordnet.ts";

/** A mask from rows of 0 and 1. */
function mask(rows: string): Rle {
  const lines = rows.split("/");
  return encodeRle([...lines.join("")].map(Number), lines.length, (lines[0] as string).length);
}

const FACTS: RolloutFacts = {
  loop: 1,
  reference: "a red car",
  caption: "a red car in the corner",
  given: mask("1100/1100/0000"),
  predicted: mask("0110/0110/0000"),
  confidence: 0.8,
  truncated: false,
};

let wordnet: Wordnet;
beforeAll(async () => {
  const path = fileURLToPath(new URL("../../../public/wordnet/wordnet30.txt", import.meta.url));
  wordnet = parseWordnet(await readFile(path));
});

const plan = (changes: Partial<LabConfig> = {}) => rewardPlan(requireConfig(changes));
const NONE = Object.fromEntries(
  ([1, 2] as const).flatMap((loop) => TERMS.map((term) => [weightKey(loop, term), 0])),
) as Partial<LabConfig>;

async function scored(
  changes: Partial<LabConfig>,
  group: readonly RolloutFacts[] = [FACTS],
  judge: CaptionTermSource | null = null,
): Promise<readonly ScoredRollout[]> {
  return rewardScorer({ wordnet, judge: () => judge }).scoreGroup(group, plan(changes));
}

const value = (rollout: ScoredRollout | undefined, name: string): number | null | undefined =>
  rollout?.terms.find((term) => term.name === name)?.value;

/** A judge with fixed verdicts, null for a call that failed. */
const judging = (...verdicts: (number | null)[]): CaptionTermSource => ({
  terms: async () =>
    verdicts.map((verdict) => ({
      name: "judge",
      value: verdict,
      weight: 0,
      ...(verdict === null ? { note: "timeout" } : {}),
    })),
});

describe("terms", () => {
  it("of masks: box and centre by hand, null where a mask is empty", () => {
    // Boxes of 2 x 2, shifted by one column: 2 of 6 cells.
    expect(boxIou(mask("1100/1100/0000"), mask("0110/0110/0000"))).toBeCloseTo(2 / 6, 12);
    expect(boxIou(mask("10"), mask("01"))).toBe(0);
    expect(boxIou(mask("00"), mask("01"))).toBeNull();
    expect(centreOfMass(mask("110/110/001"))).toEqual([0.8, 0.8]);
    expect(centreScore(mask("1100/1100/0000"), mask("0110/0110/0000"))).toBeCloseTo(1 - 1 / 5, 12);
    expect(centreScore(mask("1"), mask("0"))).toBeNull();
  });

  it("of length: free up to the ratio, 1 at one more multiple, never above", () => {
    expect(lengthCost("a b c", "a b", 1.5)).toBe(0);
    expect(lengthCost("a b c d", "a b", 1.5)).toBe(0.5);
    expect(lengthCost("a ".repeat(50), "a b", 1.5)).toBe(1);
    expect(lengthCost("", "a b", 1.5)).toBe(0);
    expect(lengthCost("a b", "", 1.5)).toBe(0.5);
  });

  it("of repetition: share of word runs that came before", () => {
    expect(repetitionCost("a cat and a dog", 1)).toBeCloseTo(1 / 5, 12);
    expect(repetitionCost("the cat the cat the cat", 2)).toBeCloseTo(3 / 5, 12);
    expect(repetitionCost("The cat, the CAT.", 2)).toBeCloseTo(1 / 3, 12);
    expect(repetitionCost("one two three", 3)).toBe(0);
    expect(repetitionCost("", 3)).toBe(0);
  });

  it("of leaks: whole words and phrases, in any case and punctuation", () => {
    expect(leakedWords("In the Lower-left corner.", "lower-left, corner, right")).toEqual(["lower-left", "corner"]);
    expect(leakedWords("a bright lefty", "left, right")).toEqual([]);
    expect(leakedWords("the top left one", " top  left ,, top left")).toEqual(["top left"]);
  });
});

describe("the composer", () => {
  it("records every term of every rollout and sums the weighted ones", async () => {
    const [one] = await scored({ ...NONE, loop1Iou: 1, loop1Confidence: 0.5, loop1LeakCost: 0.25 });
    const names = one?.terms.map(({ name }) => name) ?? [];
    expect(names).toEqual(TERMS.filter((term) => names.includes(term)));
    for (const name of ["iou", "meteor", "confidence", "box", "centre", "length", "repetition", "leak"]) {
      expect(names).toContain(name);
    }
    expect(one?.reward).toBeCloseTo(2 / 6 + 0.4 - 0.25, 12);
    expect(one?.terms.find((term) => term.name === "leak")).toMatchObject({ weight: -0.25, note: "corner" });
    expect(one?.terms.find((term) => term.name === "meteor")).toMatchObject({ weight: 0 });
  });

  it("has the likelihoods where they were measured, and no reward where a weighted one was not", async () => {
    const weights = { ...NONE, loop1Likelihood: 1, loop1Contrast: 0.5 };
    const [seen, unseen, alone, not] = await scored(weights, [
      { ...FACTS, likelihood: { likelihood: 0.4, contrast: 0.8 } },
      { ...FACTS, likelihood: null },
      { ...FACTS, likelihood: { likelihood: 0.4, contrast: null } },
      FACTS,
    ]);
    expect(seen?.reward).toBeCloseTo(0.8, 12);
    expect(unseen).toMatchObject({ reward: 0 });
    expect(unseen?.terms.find(({ name }) => name === "contrast")).toMatchObject({ note: "covers no visual token" });
    expect([alone?.reward, not?.reward]).toEqual([null, null]);
    expect(not?.terms.some(({ name }) => name === "likelihood")).toBe(false);
  });

  it("averages what several texts earned over those that have a verdict", async () => {
    const texts = [["a red car"], ["a dog"], ["a red car in the rain"]];
    const draws = await Promise.all(
      texts.map(([caption = ""]) => scored({ ...NONE, loop1Meteor: 1, loop1Box: 1 }, [{ ...FACTS, caption }])),
    );
    const [mean] = meanScores(draws, texts);
    const meteors = draws.map(([one]) => value(one, "meteor") as number);
    expect(value(mean, "meteor")).toBeCloseTo(meteors.reduce((sum, own) => sum + own, 0) / 3, 12);
    expect(mean?.reward).toBeCloseTo((value(mean, "meteor") as number) + (value(mean, "box") as number), 12);
    expect(mean?.terms.find(({ name }) => name === "box")).toEqual(
      draws[0]?.[0]?.terms.find(({ name }) => name === "box"),
    );
    const lost = draws.map((own, at) => (at === 1 ? own.map((one) => ({ ...one, reward: null })) : own));
    const known = [draws[0]?.[0]?.reward as number, draws[2]?.[0]?.reward as number];
    expect(meanScores(lost, texts)[0]?.reward).toBeCloseTo(((known[0] as number) + (known[1] as number)) / 2, 12);
  });

  it.each([
    ["plain", 1 / 3],
    ["squared", 1 / 9],
    ["tiered", 0],
  ] as const)("takes the IoU %s", async (iouShape, expected) => {
    const [one] = await scored({ ...NONE, loop1Iou: 1, iouShape });
    expect(one?.reward).toBeCloseTo(expected, 12);
  });

  it("gives METEOR the judge's weight when there is no judge", async () => {
    const [one] = await scored({}, [{ ...FACTS, loop: 2 }]);
    expect(one?.reward).toBe(value(one, "meteor"));
    expect(one?.terms.some((term) => term.name === "judge")).toBe(false);
    const [judged] = await scored({}, [{ ...FACTS, loop: 2 }], judging(0.4));
    expect(judged?.reward).toBeCloseTo(0.25 * (value(one, "meteor") as number) + 0.75 * 0.4, 12);
  });

  it("does not ask a judge whose weight is 0", async () => {
    const asked: CaptionTermSource = { terms: () => Promise.reject(new Error("asked")) };
    await expect(scored({}, [FACTS], asked)).resolves.toHaveLength(1);
    await expect(scored({ loop1Judge: 1 }, [FACTS], asked)).rejects.toThrow("asked");
  });

  it("never counts a missing verdict as 0, whatever the policy", async () => {
    const group = [
      { ...FACTS, loop: 2 as const },
      { ...FACTS, loop: 2 as const, caption: "a blue bus" },
    ];
    const run = (missingVerdict: LabConfig["missingVerdict"]) =>
      scored({ missingVerdict }, group, judging(0.5, null)).then((rows) => rows.map((row) => row.reward));
    const [first, second] = await run("drop");
    expect([first === null, second]).toEqual([false, null]);
    expect(await run("group")).toEqual([null, null]);
    const meteor = (await scored({}, group)).map((row) => row.reward);
    expect(await run("meteor")).toEqual(meteor);
    await expect(run("pause")).rejects.toMatchObject({ code: "held", message: expect.stringContaining("timeout") });
  });

  it("leaves a reward missing when the file it came from lacks a part", async () => {
    const bare = { ...FACTS, given: null, reference: null, confidence: null };
    const [byIou] = await scored({ ...NONE, loop1Iou: 1 }, [bare]);
    expect([byIou?.reward, value(byIou, "iou"), value(byIou, "meteor"), value(byIou, "length")]).toEqual([
      null,
      null,
      null,
      null,
    ]);
    const [byRepetition] = await scored({ ...NONE, loop1RepetitionCost: 1 }, [bare]);
    expect(byRepetition?.reward).toBeCloseTo(0, 12);
    const [byConfidence] = await scored({ ...NONE, loop1Confidence: 1 }, [{ ...bare, predicted: null }]);
    expect(byConfidence?.reward).toBe(0);
  });

  it("scores nothing as 0 where nothing was produced, with the reason", async () => {
    const [one] = await scored({ loop1Meteor: 1 }, [{ ...FACTS, caption: null, predicted: null }]);
    expect(one?.reward).toBe(0);
    expect(one?.terms.slice(0, 2).map((term) => term.note)).toEqual(["no mask", "empty mask"]);
  });

  it("has a default that is loop 1 IoU, loop 2 METEOR and judge", () => {
    const { weights } = plan();
    const counting = (loop: 1 | 2) => Object.entries(weights[loop]).filter(([, weight]) => weight !== 0);
    expect(counting(1)).toEqual([["iou", 1]]);
    expect(counting(2)).toEqual([
      ["meteor", 0.25],
      ["judge", 0.75],
    ]);
    for (const loop of [1, 2] as const)
      for (const term of TERMS) expect(defaultConfig()).toHaveProperty(weightKey(loop, term));
  });
});
