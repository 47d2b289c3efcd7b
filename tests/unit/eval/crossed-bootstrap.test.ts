import { describe, expect, it } from "vitest";
import { bootstrapMean } from "../../../src/engine/eval/bootstrap.ts";
import { normal } from "../../../src/engine/gpu/random.ts";
import { crossedBootstrap } from "../../../src/plugins/sweep/results.ts";
import { runInterval } from "../../../src/plugins/sweep/run-interval.ts";

const draw = (count: number, seed: number): number[] =>
  Array.from({ length: count }, (_, position) =>
    normal({ seed, step: 0, loop: 0, row: 0, rollout: 0, position, stream: 9 }),
  );
const pairs = (rows: number): string[] => Array.from({ length: rows }, (_, row) => `image ${Math.floor(row / 2)}`);
const width = ({ low, high }: { readonly low: number; readonly high: number }): number => high - low;

describe("intervals over seeds and pictures", () => {
  it("are those over pictures where every seed gives the same numbers", () => {
    const values = draw(60, 1);
    const crossed = crossedBootstrap([values, values, values], pairs(60), 1);
    const alone = bootstrapMean(values, pairs(60), 1);
    expect(crossed.mean).toBeCloseTo(alone.mean, 12);
    expect(width(crossed) / width(alone)).toBeGreaterThan(0.9);
    expect(width(crossed) / width(alone)).toBeLessThan(1.1);
  });

  it("hold the true mean where seeds differ, which intervals over pictures alone do not", () => {
    let [crossed, alone] = [0, 0];
    for (let trial = 0; trial < 20; trial++) {
      const shifts = draw(8, 100 + trial);
      const runs = shifts.map((shift, run) => draw(40, 1000 + 50 * trial + run).map((value) => value / 4 + shift));
      const both = crossedBootstrap(runs, pairs(40), trial);
      if (both.low <= 0 && both.high >= 0) crossed++;
      const means = Array.from({ length: 40 }, (_, row) => runs.reduce((sum, run) => sum + (run[row] ?? 0), 0) / 8);
      const own = bootstrapMean(means, pairs(40), trial);
      if (own.low <= 0 && own.high >= 0) alone++;
    }
    expect(crossed).toBeGreaterThanOrEqual(17);
    expect(alone).toBeLessThan(10);
  });

  it("weigh rows alike, however many a picture has", () => {
    const { mean } = crossedBootstrap([[1, 1, 1, 5]], ["a", "a", "a", "b"], 1);
    expect(mean).toBe(2);
  });

  it("are the same numbers for the same seed, others for another", () => {
    const runs = [draw(30, 2), draw(30, 3)];
    expect(crossedBootstrap(runs, pairs(30), 5)).toEqual(crossedBootstrap(runs, pairs(30), 5));
    expect(crossedBootstrap(runs, pairs(30), 6).low).not.toBe(crossedBootstrap(runs, pairs(30), 5).low);
  });
});

describe("the t interval over runs", () => {
  it("is Student's, by hand and from a table", () => {
    const { mean, low, high } = runInterval([1, 2, 3]);
    expect([mean, high - mean, mean - low]).toEqual([
      2,
      expect.closeTo(4.30265 / Math.sqrt(3), 3),
      expect.closeTo(high - mean, 12),
    ]);
    expect(width(runInterval([0, 1])) / 2).toBeCloseTo(12.7062 / 2, 3);
    expect(() => runInterval([1])).toThrow("An interval needs at least two runs, not 1");
  });

  it("holds the true mean of three runs in 95 % of the cases, which a bootstrap of three does not", () => {
    let [held, bootstrapped] = [0, 0];
    for (let trial = 0; trial < 400; trial++) {
      const means = draw(3, 9000 + trial);
      const { low, high } = runInterval(means);
      if (low <= 0 && high >= 0) held++;
      if (trial >= 60) continue;
      const crossed = crossedBootstrap(
        means.map((value) => [value]),
        ["one"],
        trial,
      );
      if (crossed.low <= 0 && crossed.high >= 0) bootstrapped++;
    }
    expect(Math.abs(held / 400 - 0.95)).toBeLessThan(0.035);
    expect(bootstrapped / 60).toBeLessThan(0.9);
  });
});
