import { describe, expect, it } from "vitest";
import { bootstrapMean } from "../../../src/engine/eval/bootstrap.ts";
import { normal } from "../../../src/engine/gpu/random.ts";

const noise = (count: number, seed: number): number[] =>
  Array.from({ length: count }, (_, position) =>
    normal({ seed, step: 0, loop: 0, row: 0, rollout: 0, position, stream: 9 }),
  );

const apart = (count: number): string[] => Array.from({ length: count }, (_, row) => `image ${row}`);

describe("bootstrap intervals", () => {
  /** How many of 40 intervals hold the true mean of 40 rows, so many of them in an image with one error in common. */
  const covered = (together: number, images: (row: number) => string): number => {
    let count = 0;
    for (let seed = 0; seed < 40; seed++) {
      const own = noise(40, seed);
      const shared = noise(40, 1000 + seed);
      const values = own.map((value, row) => value + 2 * (shared[Math.floor(row / together)] as number));
      const names = values.map((_, row) => images(row));
      const { low, high } = bootstrapMean(values, names, seed);
      if (low <= 0 && high >= 0) count++;
    }
    return count;
  };

  it("cover the true mean about 95 times in 100", () => {
    expect(covered(1, (row) => `image ${row}`)).toBeGreaterThanOrEqual(35);
  });

  it("do so where rows of one image err together, which rows drawn one by one do not", () => {
    expect(covered(4, (row) => `image ${Math.floor(row / 4)}`)).toBeGreaterThanOrEqual(34);
    expect(covered(4, (row) => `image ${row}`)).toBeLessThan(30);
  });

  it("are the same numbers for the same seed", () => {
    expect(bootstrapMean(noise(20, 1), apart(20), 5)).toEqual(bootstrapMean(noise(20, 1), apart(20), 5));
  });

  it("of one image are its mean", () => {
    expect(bootstrapMean([1, 2, 6], ["a", "a", "a"], 1)).toEqual({ mean: 3, low: 3, high: 3 });
  });

  it("narrow when rows are compared with themselves", () => {
    const before = noise(50, 2).map((value) => 5 * value);
    const now = before.map((value, i) => value + 0.1 + 0.01 * (i % 3));
    const gains = now.map((value, row) => value - (before[row] as number));
    const { low, high } = bootstrapMean(gains, apart(50), 1);
    expect(low).toBeGreaterThan(0.1);
    expect(high).toBeLessThan(0.12);
  });
});
