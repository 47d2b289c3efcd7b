/**
 * Settings of the policy loss. A loss combines four independent choices (objective, ratio level, aggregation, KL); the
 * published names are presets of them, with the semantics of TRL 1.16.
 */

import type { LabConfig } from "../../config/table.ts";
import { LabError } from "../../errors.ts";

/**
 * Policy term of a token, with ratio w and advantage A:
 * - `clip`: -min(min(w, delta)·A, clip(w, 1 - epsLow, 1 + epsHigh)·A)
 * - `cispo`: -stop(clip(w, weightMin, weightMax))·A·logp (2506.13585)
 * - `sapo`: -(4/k)·sigmoid(k·(w - 1))·A (2511.20347)
 * - `vespo`: -stop(φ(w of the summed log-ratio))·A·logp, φ(w) = exp(λ + k·log w - λ·w) (2602.10693)
 */
export type Objective = "clip" | "cispo" | "sapo" | "vespo";

/**
 * Level of a ratio: `token`; `sequence` = exp of the row's mean log-ratio (GSPO, 2507.18071); `gspo_token` = that value
 * with the gradient of the token alone; `sequence_sum` = exp of the row's summed log-ratio (product of actions).
 */
export type RatioLevel = "token" | "sequence" | "gspo_token" | "sequence_sum";

/**
 * How per-token losses become one number; |n| is the row's active length, N rows, T padded length.
 * - `row-mean`: mean over rows of (sum / max(|n|, 1)); fully masked rows count in N
 * - `active-row-mean`, `active-row-sum`: the same, and with the plain sum, over rows with an active token
 * - `row-sum`: mean over all rows of the sum
 * - `micro-token-mean`: sum / active tokens of this micro-batch
 * - `window-token-mean`: sum / active tokens of the whole accumulation window, not divided by K
 * - `constant-length`: sum / (N · maxLength)
 * - `padded-length`: sum / T
 */
export type Aggregation =
  | "row-mean"
  | "active-row-mean"
  | "active-row-sum"
  | "row-sum"
  | "micro-token-mean"
  | "window-token-mean"
  | "constant-length"
  | "padded-length";

/**
 * Estimator of KL(policy, reference) with q = ref - logp: k1 = -q, k2 = q²/2, k3 = exp(q) - q - 1, abs = |q|,
 * `k3-value-k2-gradient`, and `notes` = q (the design notes' sign; it rewards distance).
 */
export type KlEstimator = "k1" | "k2" | "k3" | "abs" | "k3-value-k2-gradient" | "notes";

export interface LossSettings {
  readonly objective: Objective;
  readonly level: RatioLevel;
  readonly aggregation: Aggregation;
  readonly epsLow: number;
  readonly epsHigh: number;
  /**
   * Upper bound of the unclipped ratio (INTELLECT-2, 2505.07291), usually above 1 + epsHigh; null for
   * none. The dual clip of verl with a constant c above 1 + epsHigh is the same function with delta = c.
   */
  readonly delta: number | null;
  /** Log-ratios are held in [-bound, bound] before the exponential, gradient 0 outside; null for no bound. */
  readonly logRatioBound: number | null;
  /** Bounds of the detached weight of `cispo`. */
  readonly weightMin: number;
  readonly weightMax: number;
  readonly sapo: { readonly positive: number; readonly negative: number };
  readonly vespo: {
    readonly kPositive: number;
    readonly lambdaPositive: number;
    readonly kNegative: number;
    readonly lambdaNegative: number;
  };
  /** Weight of the KL term; 0 for none. */
  readonly beta: number;
  readonly klEstimator: KlEstimator;
  /** Level of the log-ratio in the KL estimate: `sequence` = row mean, `sequence_sum` = row sum. */
  readonly klLevel: "token" | "sequence" | "sequence_sum";
  /** k3: q held in ±difference and the value in ±value, gradient 0 outside; null for none. */
  readonly klClamp: { readonly difference: number; readonly value: number } | null;
  /** Multiply the KL term by the ratio; the gradient flows through both factors. */
  readonly useBiasCorrectionKl: boolean;
  /** Weight of the mean entropy, over the tokens that keep their policy term, that is subtracted from the loss. */
  readonly entropyCoef: number;
  /** Share of the most uncertain tokens that keep their policy term (2506.01939); 1 for all, 0 for the top one. KL stays on all. */
  readonly topEntropyQuantile: number;
  /** Rows with A < 0 and mean (old - logp) above this lose their policy term (2512.02556); null for none. */
  readonly offPolicyMaskThreshold: number | null;
  /** L of `constant-length`. */
  readonly maxCompletionLength: number;
  /** K, micro-batches per optimiser step. */
  readonly accumulation: number;
  /** Active tokens of all micro-batches of the optimiser step; null if this micro-batch is the only one. */
  readonly activeTokensTotal: number | null;
}

export type LossType = "grpo" | "bnpo" | "dr_grpo" | "dapo" | "cispo" | "sapo" | "luspo" | "vespo" | "notes";

/** Recommended settings shared by the presets: ratio against the sampling weights, clamped k3, token masks. */
const LOSS_DEFAULTS: LossSettings = {
  objective: "clip",
  level: "token",
  aggregation: "row-mean",
  epsLow: 0.2,
  epsHigh: 0.2,
  delta: null,
  logRatioBound: 20,
  weightMin: 0,
  weightMax: 5,
  sapo: { positive: 1, negative: 1.05 },
  vespo: { kPositive: 2, lambdaPositive: 3, kNegative: 3, lambdaNegative: 2 },
  beta: 0.04,
  klEstimator: "k3",
  klLevel: "token",
  klClamp: { difference: 20, value: 10 },
  useBiasCorrectionKl: false,
  entropyCoef: 0,
  topEntropyQuantile: 1,
  offPolicyMaskThreshold: null,
  maxCompletionLength: 1,
  accumulation: 1,
  activeTokensTotal: null,
};

const PRESETS: Readonly<Record<LossType, Partial<LossSettings>>> = {
  grpo: { objective: "clip", aggregation: "row-mean" },
  bnpo: { objective: "clip", aggregation: "micro-token-mean" },
  dr_grpo: { objective: "clip", aggregation: "constant-length" },
  dapo: { objective: "clip", aggregation: "window-token-mean" },
  cispo: { objective: "cispo", aggregation: "window-token-mean" },
  sapo: { objective: "sapo", aggregation: "row-mean" },
  luspo: { objective: "clip", aggregation: "row-sum", level: "sequence" },
  vespo: { objective: "vespo", aggregation: "window-token-mean" },
  // Pass the reference log-probs as `oldLogps` too: the design notes take the ratio against the reference.
  notes: { objective: "clip", aggregation: "row-mean", klEstimator: "notes", klClamp: null, logRatioBound: null },
};

/** Settings of a published loss name, changed by `changes`. @throws LabError("bad-config") when they do not fit. */
export function lossSettings(type: LossType, changes: Partial<LossSettings> = {}): LossSettings {
  const settings = { ...LOSS_DEFAULTS, ...PRESETS[type], ...changes };
  checkLoss(settings);
  return settings;
}

/** @throws LabError("bad-config") naming the first setting that is out of range */
export function checkLoss(settings: LossSettings): void {
  const demand = (holds: boolean, name: string, rule: string): void => {
    if (!holds)
      throw new LabError("bad-config", `Loss setting ${name} must be ${rule}; no loss was computed.`, {
        subject: name,
      });
  };
  demand(settings.epsLow >= 0 && settings.epsLow < 1, "epsilon_low", "in [0, 1)");
  demand(settings.epsHigh >= 0, "epsilon_high", "0 or more");
  demand(settings.delta === null || settings.delta > 1, "delta", "above 1, or 0 for none");
  demand(settings.weightMin <= settings.weightMax, "cispo weights", "in order");
  demand(settings.sapo.positive > 0 && settings.sapo.negative > 0, "sapo temperatures", "above 0");
  demand(settings.beta >= 0, "beta", "0 or more");
  demand(settings.topEntropyQuantile >= 0 && settings.topEntropyQuantile <= 1, "top_entropy_quantile", "in [0, 1]");
  demand(settings.maxCompletionLength >= 1, "max_completion_length", "1 or more");
  demand(
    Number.isInteger(settings.accumulation) && settings.accumulation >= 1,
    "accumulation",
    "a whole number of at least 1",
  );
}

/**
 * @param entropyCoef weight of the entropy bonus in this update
 * @param microBatches K: groups of one loop in an optimiser step
 * @param activeTokens counted actions of all those groups
 * @param longest L, the maximum number of actions of a rollout: a caption's token limit, or T of a mask policy
 * @throws LabError("bad-config") naming the first invalid setting
 */
export function lossSettingsOf(
  config: LabConfig,
  entropyCoef: number,
  microBatches: number,
  activeTokens: number,
  longest: number,
): LossSettings {
  const notes = config.objective === "notes";
  return lossSettings(notes ? "notes" : config.lossType, {
    epsLow: config.epsilonLow,
    epsHigh: config.epsilonHigh,
    delta: config.delta === 0 ? null : config.delta,
    // As in TRL, cispo's cap is the upper ε itself.
    weightMax: config.epsilonHigh,
    sapo: { positive: config.sapoTemperaturePos, negative: config.sapoTemperatureNeg },
    vespo: {
      kPositive: config.vespoKPos,
      lambdaPositive: config.vespoLambdaPos,
      kNegative: config.vespoKNeg,
      lambdaNegative: config.vespoLambdaNeg,
    },
    beta: config.beta,
    useBiasCorrectionKl: config.useBiasCorrectionKl,
    entropyCoef,
    topEntropyQuantile: config.topEntropyQuantile,
    offPolicyMaskThreshold: config.offPolicyMaskThreshold === 0 ? null : config.offPolicyMaskThreshold,
    maxCompletionLength: longest,
    accumulation: microBatches,
    activeTokensTotal: activeTokens,
    ...(config.importanceSamplingLevel === "sequence" ? { level: "sequence" as const } : {}),
    ...(notes
      ? {}
      : { klEstimator: config.klEstimator, klClamp: config.klClamp ? { difference: 20, value: 10 } : null }),
  });
}
