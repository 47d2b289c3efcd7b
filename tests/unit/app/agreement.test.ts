import { expect, test } from "vitest";
import { agreements, disagreements, noise, pairsOf, spreads } from "../../../src/app/screens/judge/agreement.ts";
import type { RewardTerm } from "../../../src/engine/rewards/term.ts";
import type { GroupRecord, RolloutRecord } from "../../../src/engine/runs/rollouts/records.ts";
import { readThumbs, writeThumb } from "../../../src/engine/runs/rollouts/thumbs.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";

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

test("agreement is the share of liked and disliked pairs in the right order", () => {
  const rollouts = [rollout("a", "x", 0.9, 0.2), rollout("b", "y", 0.1, 0.2), rollout("c", "z", 0.5, 0.9)];
  const thumbs = { a: 1, b: -1, c: -1 } as const;
  expect(agreements(rollouts, thumbs, ["judge", "meteor"])).toEqual([
    { name: "judge", share: 1, pairs: 2 },
    { name: "meteor", share: 0.25, pairs: 2 },
  ]);
  expect(agreements(rollouts, { a: 1 }, ["judge"])).toEqual([{ name: "judge", share: null, pairs: 0 }]);
});

test("disagreement is ranked by how far the two ranks lie apart, equal texts once", () => {
  const rollouts = [
    rollout("agree", "x", 0.5, 0.5),
    rollout("judge likes", "y", 0.9, 0.1),
    rollout("meteor likes", "z", 0.1, 0.9),
    rollout("again", "z", 0.1, 0.9),
    rollout("missing", "w", null, 0.9),
  ];
  expect(disagreements(rollouts).map(({ rollout: { id }, gap }) => [id, gap])).toEqual([
    ["judge likes", 1],
    ["meteor likes", -1],
    ["agree", 0],
  ]);
  expect(disagreements([])).toEqual([]);
  // Ranks as shares of the other values, ties half.
  const tied = [1, 1, 1, 0, 2].map((judge, n) => rollout(String(n), String(n), judge, -judge));
  expect(disagreements(tied).map(({ rollout: { id }, gap }) => [id, gap])).toEqual([
    ["3", -1],
    ["4", 1],
    ["0", 0],
    ["1", 0],
    ["2", 0],
  ]);
});

test("pairs for calibration are different, have words and are taken evenly", () => {
  const rollouts = ["a", "b", "a", " ", null, "c", "d"].map((caption, n) => rollout(String(n), caption, 0, 0));
  const groups = [{ rollouts }] as unknown as GroupRecord[];
  expect(pairsOf(groups, 10).map(({ hypothesis }) => hypothesis)).toEqual(["a", "b", "c", "d"]);
  expect(pairsOf(groups, 2).map(({ hypothesis }) => hypothesis)).toEqual(["a", "c"]);
});

test("thumbs lie in the run's folder and can be taken back", async () => {
  const store = memoryStore();
  expect(await readThumbs(store, "run")).toEqual({});
  await writeThumb(store, "run", "1-2-0-0", 1);
  await writeThumb(store, "run", "1-2-0-1", -1);
  expect(await writeThumb(store, "run", "1-2-0-0", null)).toEqual({ "1-2-0-1": -1 });
  expect(await readThumbs(store, "run")).toEqual({ "1-2-0-1": -1 });
  await store.write("run/thumbs.json", '{"a": 5, "b": 1}');
  expect(await readThumbs(store, "run")).toEqual({ b: 1 });
  await store.write("run/thumbs.json", "{");
  await expect(readThumbs(store, "run")).rejects.toThrow("run/thumbs.json is not valid JSON");
});
