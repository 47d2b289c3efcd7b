import { expect, it } from "vitest";
import type { ActionLogps, Group, LoopRollouts } from "../../../src/engine/rl/step/group.ts";
import { sourceMetrics } from "../../../src/engine/rl/step/metrics/rollout-metrics.ts";
import { resampled } from "../../../src/engine/rl/step/sample.ts";

/** Groups told apart by their number; `freed` has those that were disposed. */
function sampling(numbers: readonly number[], freed: number[]): LoopRollouts {
  const groups = numbers.map((group) => ({ group, dispose: () => freed.push(group) }) as unknown as Group);
  return {
    groups,
    logProbs: (_, places, features) =>
      places.map((place, at) => [numbers[place], features[at]] as unknown as ActionLogps),
  };
}

/** Numbers above 9 with an even last digit have spread. */
const spreads = (groups: readonly Group[]): boolean[] => groups.map(({ group }) => group > 9 && group % 2 === 0);

it("replaces groups without spread in their places, and scores all in one call per sampling", async () => {
  const freed: number[] = [];
  const asked: number[][] = [];
  const found = await resampled(sampling([12, 1, 2, 14, 3], freed), 3, spreads, async (round, count) => {
    asked.push([round, count]);
    return sampling(round === 1 ? [20, 21, 22] : [31], freed);
  });
  // Round 1 fills two of three places, rounds 2 and 3 none.
  expect(asked).toEqual([
    [1, 3],
    [2, 1],
    [3, 1],
  ]);
  expect(found.groups.map(({ group }) => group)).toEqual([12, 20, 22, 14, 3]);
  expect(found.sampled?.map(({ group }) => group)).toEqual([12, 1, 2, 14, 3, 20, 21, 22, 31, 31]);
  expect(freed).toEqual([1, 21, 2, 31, 31]);
  const features = ["a", "b", "c"] as unknown as Parameters<LoopRollouts["logProbs"]>[2];
  const scores = found.logProbs(undefined as never, [4, 1, 3], features) as unknown;
  expect(scores).toEqual([
    [3, "a"],
    [20, "b"],
    [14, "c"],
  ]);
});

it("samples nothing when all have spread or no rounds are set, and frees all groups when sampling fails", async () => {
  const freed: number[] = [];
  const never = async (): Promise<LoopRollouts> => {
    throw new Error("stopped");
  };
  const [good, dull] = [sampling([10, 12], freed), sampling([1, 12], freed)];
  expect(await resampled(good, 5, spreads, never)).toBe(good);
  expect(await resampled(dull, 0, spreads, never)).toBe(dull);
  expect(freed).toEqual([]);
  await expect(resampled(dull, 1, spreads, never)).rejects.toThrow("stopped");
  expect(freed).toEqual([1, 12]);
});

it("rewards are told by source, without groups that have none", () => {
  const group = (id: string) => ({ row: { summary: { id } } }) as unknown as Group;
  const scores = [
    { mean: 0.5, zeroSpread: false },
    { mean: 0.25, zeroSpread: true },
    { mean: Number.NaN, zeroSpread: true },
  ];
  const source = (rowId: string) => rowId.slice(0, 1);
  expect(sourceMetrics(2, [group("a#1"), group("a#2"), group("b#1")], scores, { source })).toEqual({
    "loop2/source_groups/a": 2,
    "loop2/source_reward/a": 0.375,
    "loop2/source_zero_std/a": 0.5,
    "loop2/source_groups/b": 1,
    "loop2/source_zero_std/b": 1,
  });
  expect(sourceMetrics(1, [group("a#1")], scores, { source: () => null })).toEqual({});
});
