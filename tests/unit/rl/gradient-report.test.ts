import { describe, expect, it } from "vitest";
import { gradientReportDue, signalToNoise } from "../../../src/engine/rl/step/metrics/gradient-report.ts";

/** Deterministic normal numbers. */
function normals(seed: number): () => number {
  let state = seed;
  const uniform = (): number => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** Ratio of a sum of `count` vectors in 400 dimensions, each noise of length 20 around a mean of the given length. */
function ratio(count: number, signal: number, seed: number): number {
  const normal = normals(seed);
  const vectors = Array.from({ length: count }, () =>
    Array.from({ length: 400 }, (_, at) => normal() + (at === 0 ? signal : 0)),
  );
  const square = (vector: readonly number[]): number => vector.reduce((sum, value) => sum + value ** 2, 0);
  const sum = vectors.reduce((total, vector) => total.map((value, at) => value + (vector[at] as number)));
  return signalToNoise(vectors.map(square), Math.sqrt(square(sum))) as number;
}

describe("signal-to-noise of a gradient", () => {
  it("is 1 without signal and grows with the groups where there is one", () => {
    for (const seed of [1, 2, 3]) {
      expect(Math.abs(ratio(8, 0, seed) - 1)).toBeLessThan(0.12);
      for (const count of [4, 16]) {
        // √(1 + n·‖signal‖²/‖noise‖²)
        expect(Math.abs(ratio(count, 20, seed) / Math.sqrt(1 + count) - 1)).toBeLessThan(0.12);
      }
    }
  });

  it("is absent where groups have no spread or are one", () => {
    expect(signalToNoise([4], 2)).toBeNull();
    expect(signalToNoise([0, 0, 0], 0)).toBeNull();
    expect(signalToNoise([4, 4], 4)).toBeNull();
    expect(signalToNoise([4, Number.NaN], Number.NaN)).toBeNull();
  });

  it("is reported at the first step and every N steps after it", () => {
    const due = (gradientReport: number) =>
      [1, 2, 3, 4, 5].filter((step) => gradientReportDue({ gradientReport }, step));
    expect([due(0), due(1), due(2)]).toEqual([[], [1, 2, 3, 4, 5], [1, 3, 5]]);
  });
});
