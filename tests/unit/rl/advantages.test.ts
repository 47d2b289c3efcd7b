import { describe, expect, it } from "vitest";
import {
  type AdvantageSettings,
  groupAdvantages,
  normalizeThenSum,
  weightedRewards,
  zeroSpreadFraction,
} from "../../../src/engine/rl/advantages.ts";

const settings = (groupSize: number, changes: Partial<AdvantageSettings> = {}): AdvantageSettings => ({
  groupSize,
  scale: "group",
  eps: 1e-8,
  baseline: "mean",
  ...changes,
});

describe("group advantages", () => {
  it("are exactly 0 in constant groups whatever the value, the size and the scale", () => {
    for (let thousandth = 1; thousandth < 1000; thousandth += 7) {
      for (const size of [2, 3, 4, 6, 8, 12, 16]) {
        const rewards = new Array<number>(size).fill(Math.fround(thousandth / 1000));
        for (const scale of ["group", "batch", "none"] as const) {
          const { advantages, groups } = groupAdvantages(
            [...rewards, ...rewards.map((r, i) => r + i)],
            settings(size, { scale }),
          );
          expect(advantages.slice(0, size).every((a) => a === 0)).toBe(true);
          expect(groups[0]).toMatchObject({ std: 0, zeroSpread: true });
        }
      }
    }
  });

  it("leave rows without a reward out of the mean, with advantage 0", () => {
    const { advantages, groups } = groupAdvantages([1, null, 3, 2], settings(4, { eps: 0 }));
    expect(advantages).toEqual([-1, 0, 1, 0]);
    expect(groups[0]).toMatchObject({ mean: 2, std: 1, present: 3 });
  });

  it("are 0 in a group with fewer than two rewards", () => {
    const { advantages } = groupAdvantages([null, 5, null, null, null, null], settings(3));
    expect(advantages).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("are ±1/√2 in pairs", () => {
    const { advantages } = groupAdvantages([0.1, 0.9], settings(2, { eps: 0 }));
    expect(advantages[1]).toBeCloseTo(Math.SQRT1_2, 12);
  });

  it("leave-one-out compares with the mean of the others", () => {
    const { advantages } = groupAdvantages([1, 2, 6], settings(3, { scale: "none", baseline: "leave-one-out" }));
    advantages.forEach((a, i) => {
      expect(a).toBeCloseTo([1 - 4, 2 - 3.5, 6 - 1.5][i] as number, 12);
    });
  });

  it("skip missing parts of a weighted sum and keep rows without any part missing", () => {
    expect(
      weightedRewards(
        [
          [1, null],
          [null, null],
          [1, 2],
        ],
        [0.25, 0.75],
      ),
    ).toEqual([0.25, null, 1.75]);
  });

  it("normalising first tells apart what the sum cannot", () => {
    const rewards = [
      [1, 0],
      [0, 1],
      [1, 0.2],
      [0, 0],
    ];
    const { advantages } = normalizeThenSum(rewards, [1, 1], settings(4, { eps: 1e-4 }));
    expect(advantages[0]).not.toBeCloseTo(advantages[1] as number, 3);
    expect(advantages.reduce((a, b) => a + b, 0)).toBeCloseTo(0, 10);
  });

  it("refuse incomplete groups and rewards that are not finite", () => {
    expect(() => groupAdvantages([1, 2, 3], settings(2))).toThrow(/groups of 2/);
    expect(() => groupAdvantages([1, Number.NaN], settings(2))).toThrow(/row 1/);
  });

  it("share of rows without deviation", () => {
    expect(zeroSpreadFraction([0, 0, 0.5, 1e-12])).toBe(0.75);
  });
});
