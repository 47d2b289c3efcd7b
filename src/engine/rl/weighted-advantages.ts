/**
 * Advantages of a group whose members carry probabilities: the whole action set of a small discrete policy is evaluated,
 * so the baseline is the exact expectation instead of a sample mean (reference: grpo.md §20 G).
 */
export interface WeightedAdvantages {
  readonly advantages: readonly number[];
  /** Σ w R. */
  readonly mean: number;
  /** √Σ w (R − mean)²: exact, so no correction for sample size. */
  readonly std: number;
  readonly zeroSpread: boolean;
}

/**
 * @param rewards null = missing; such an action is left out and the rest of the weights are renormalised
 * @param weights probabilities of the actions, ≥ 0
 * @param scale divide by the deviation, or only centre
 */
export function weightedAdvantages(
  rewards: readonly (number | null)[],
  weights: readonly number[],
  eps: number,
  scale: boolean,
): WeightedAdvantages {
  const present = rewards.flatMap((reward, i) => (reward === null ? [] : [{ reward, weight: weights[i] as number }]));
  const total = present.reduce((sum, item) => sum + item.weight, 0);
  const first = present[0]?.reward ?? 0;
  const zeroSpread = present.length < 2 || total <= 0 || present.every((item) => item.reward === first);
  // Differences to the first reward, so that a constant group is exactly 0.
  const shift = zeroSpread ? 0 : present.reduce((sum, item) => sum + item.weight * (item.reward - first), 0) / total;
  const mean = present.length === 0 ? Number.NaN : first + shift;
  const variance = zeroSpread
    ? 0
    : present.reduce((sum, item) => sum + item.weight * (item.reward - mean) ** 2, 0) / total;
  const std = Math.sqrt(variance);
  const advantages = rewards.map((reward) =>
    reward === null || zeroSpread ? 0 : (reward - mean) / (scale ? std + eps : 1),
  );
  return { advantages, mean, std, zeroSpread };
}
