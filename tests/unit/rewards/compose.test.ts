import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { LabError } from "../../../src/engine/errors.ts";
import { composeReward } from "../../../src/engine/rewards/composer/compose-group.ts";
import { meteorScorer } from "../../../src/engine/rewards/scorer.ts";
import type { RewardTerm } from "../../../src/engine/rewards/term.ts";
import { parseWordnet } from "../../../src/engine/rewards/wordnet.ts";

const term = (name: string, value: number | null, weight: number): RewardTerm => ({ name, value, weight });

test("a reward is the weighted sum, and missing when a needed part is missing", () => {
  expect(composeReward([term("a", 0.5, 2), term("b", -0.25, 1)])).toBe(0.75);
  expect(composeReward([term("a", 0, 1)])).toBe(0);
  expect(composeReward([term("a", 0.5, 1), term("b", null, 0.1)])).toBeNull();
  // A term that is shown only may be missing.
  expect(composeReward([term("a", 0.5, 1), term("b", null, 0)])).toBe(0.5);
  expect(composeReward([])).toBeNull();
  expect(composeReward([term("a", 0.5, 0)])).toBeNull();
  for (const bad of [term("a", Number.NaN, 1), term("a", Infinity, 0), term("a", 1, Number.NaN)]) {
    expect(() => composeReward([bad])).toThrow('reward term "a"');
  }
});

test("the scorer gives a reward with its alignment for every pair, in order", async () => {
  const table = await readFile(new URL("../../../public/wordnet/wordnet30.txt", import.meta.url));
  const scorer = meteorScorer(parseWordnet(table));
  const scores = await scorer.score([
    { reference: "a red car", hypothesis: "a red auto" },
    { reference: "a dog", hypothesis: "" },
    { reference: " ", hypothesis: "a dog" },
  ]);
  expect(scores.map(({ reward }) => reward)).toEqual([expect.closeTo(1 - 0.5 / 27, 14), 0, 0]);
  expect(scores[0]?.terms[0]?.meteor?.matches[2]).toEqual([2, 2, "synonym"]);
  expect(scores.map(({ terms }) => terms[0]?.note)).toEqual([undefined, "empty caption", "empty reference"]);
  expect(await scorer.score([])).toEqual([]);
});

test("a sum that could not be averaged is held, with one sentence", () => {
  const huge = [{ name: "user", value: 1e308, weight: 10 }];
  expect(() => composeReward(huge)).toThrow(
    /^The reward term "user" of 1e\+308 with weight 10 is beyond 1000000000000; lower one of them/,
  );
  expect(() => composeReward([{ name: "user", value: -1e300, weight: 1 }])).toThrow(LabError);
  expect(composeReward([{ name: "user", value: -1e11, weight: 10 }])).toBe(-1e12);
});
