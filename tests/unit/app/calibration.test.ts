import { expect, test } from "vitest";
import type { RewardTerm } from "../../../src/engine/rewards/term.ts";
import type { GroupRecord, RolloutRecord } from "../../../src/engine/runs/rollouts/records.ts";
import { noise, pairsOf, spreads } from "../../../src/plugins/judge-workshop/calibration.ts";

const term = (name: string, value: number | null): RewardTerm => ({ name, value, weight: 1 });
const rollout = (id: string, caption: string | null, judge: number | null, meteor: number): RolloutRecord =>
  ({
    id,
    loop: 2,
    captionPrime: caption,
    referenceCaption: "a dog",
    reward: judge,
    terms: [term("meteor", meteor), term("judge", judge)],
  }) as unknown as RolloutRecord;

test("the spread of a pair is over its rounds, missing verdicts counted apart", () => {
  const rounds = [
    [term("judge", 1), term("judge", 0), term("judge", null)],
    [term("judge", 0.5), term("judge", 0), term("judge", null)],
    [term("judge", 0), term("judge", null), term("judge", null)],
  ];
  const found = spreads(rounds);
  expect(found.map(({ mean, missing }) => [mean, missing])).toEqual([
    [0.5, 0],
    [0, 1],
    [null, 3],
  ]);
  expect(found.map(({ std }) => std)).toEqual([0.5, 0, null]);
  expect(noise(found)).toEqual({ within: 0.25, between: Math.SQRT1_2 / 2 });
  expect(noise([])).toEqual({ within: null, between: null });
  expect(spreads([])).toEqual([]);
});

test("pairs for calibration are different, have words and are taken evenly", () => {
  const rollouts = ["a", "b", "a", " ", null, "c", "d"].map((caption, n) => rollout(String(n), caption, 0, 0));
  const groups = [{ rollouts }] as unknown as GroupRecord[];
  expect(pairsOf(groups, 10).map(({ hypothesis }) => hypothesis)).toEqual(["a", "b", "c", "d"]);
  expect(pairsOf(groups, 2).map(({ hypothesis }) => hypothesis)).toEqual(["a", "c"]);
});
