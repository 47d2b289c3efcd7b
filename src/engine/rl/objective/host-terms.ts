/** Terms of the loss of single tokens and rows in double precision, without tensors. */
import type { KlEstimator, LossSettings } from "./loss-types.ts";

/** Bounds of a token's log-ratio and of the row's sum, and the minimum λ, as in TRL. */
export const VESPO_TOKEN_BOUND = 20;
export const VESPO_BOUNDS = [Math.log(1e-8), 20] as const;
export const VESPO_LEAST_LAMBDA = 1e-4;

/**
 * Estimate of KL(policy, reference) for one log-ratio, and whether the clamp changed it
 * (docs/spec/grpo.md#5-kl-to-the-reference).
 */
export function klOf(
  toReference: number,
  estimator: KlEstimator,
  clamp: LossSettings["klClamp"],
): { readonly value: number; readonly clamped: boolean } {
  switch (estimator) {
    case "k1":
      return { value: toReference, clamped: false };
    case "notes":
      return { value: -toReference, clamped: false };
    case "abs":
      return { value: Math.abs(toReference), clamped: false };
    case "k2":
      return { value: toReference ** 2 / 2, clamped: false };
    case "k3":
    case "k3-value-k2-gradient": {
      const q = -toReference;
      if (clamp === null) return { value: Math.expm1(q) - q, clamped: false };
      const held = Math.min(clamp.difference, Math.max(-clamp.difference, q));
      const value = Math.expm1(held) - held;
      return { value: Math.min(clamp.value, value), clamped: held !== q || value > clamp.value };
    }
  }
}

/**
 * φ of `vespo` for one row.
 * @param logRatios log-ratios of its active tokens
 */
export function vespoWeightOf(logRatios: readonly number[], advantage: number, { vespo }: LossSettings): number {
  const bounded = (x: number, low: number, high: number): number => Math.min(high, Math.max(low, x));
  const sum = logRatios.reduce((total, x) => total + bounded(x, -VESPO_TOKEN_BOUND, VESPO_TOKEN_BOUND), 0);
  const logRatio = bounded(sum, ...VESPO_BOUNDS);
  const k = advantage >= 0 ? vespo.kPositive : vespo.kNegative;
  const lambda = Math.max(VESPO_LEAST_LAMBDA, advantage >= 0 ? vespo.lambdaPositive : vespo.lambdaNegative);
  const phi = Math.exp(lambda + k * logRatio - lambda * Math.exp(logRatio));
  return Number.isFinite(phi) ? phi : 0;
}
