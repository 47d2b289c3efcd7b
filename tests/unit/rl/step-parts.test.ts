import { describe, expect, it } from "vitest";
import { padRows } from "../../../src/engine/rl/loops/texts.ts";
import { groupAdvantages, type Reward } from "../../../src/engine/rl/objective/advantages.ts";

function weightedAdvantages(rewards: readonly Reward[], probabilities: readonly number[], eps: number, scale: boolean) {
  const settings = { eps, baseline: "mean", aggregation: "sum_then_normalize" } as const;
  const groups = [{ rewards, probabilities, parts: [] }];
  const [scores] = groupAdvantages(groups, { ...settings, scale: scale ? "group" : "none" });
  return scores as NonNullable<typeof scores>;
}

describe("advantages of a whole action set", () => {
  it("have zero mean under the probabilities and unit deviation", () => {
    const weights = [0.5, 0.3, 0.2];
    const { values: advantages, mean, std } = weightedAdvantages([0.2, 0.9, 0.4], weights, 0, true);
    expect(mean).toBeCloseTo(0.45, 12);
    expect(std).toBeCloseTo(Math.sqrt(0.5 * 0.0625 + 0.3 * 0.2025 + 0.2 * 0.0025), 12);
    const weighted = (power: number) => advantages.reduce((sum, a, i) => sum + (weights[i] as number) * a ** power, 0);
    expect(weighted(1)).toBeCloseTo(0, 12);
    expect(weighted(2)).toBeCloseTo(1, 12);
  });

  it("are exactly zero when rewards are equal, whatever the rounding of their mean", () => {
    for (let k = 1; k < 200; k++) {
      const result = weightedAdvantages([k / 1000, k / 1000, k / 1000], [0.1, 0.7, 0.2], 0, true);
      expect(result.values).toEqual([0, 0, 0]);
      expect(result.zeroSpread).toBe(true);
    }
  });

  it("leave missing rewards out and renormalise", () => {
    const { values: advantages, mean } = weightedAdvantages([1, null, 0], [0.25, 0.5, 0.25], 0, false);
    expect(mean).toBe(0.5);
    expect(advantages).toEqual([0.5, 0, -0.5]);
  });
});

describe("padding", () => {
  it("lays rows of unequal length on one grid", () => {
    expect([...padRows([[1, 2], [], [3]], 3, 9)]).toEqual([1, 2, 9, 9, 9, 9, 3, 9, 9]);
  });
});
