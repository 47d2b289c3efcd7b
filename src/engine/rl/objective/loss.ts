/**
 * The policy loss of GRPO and its variants as one custom gradient over per-token log-probs and entropies. Value and
 * gradient are explicit, so nothing depends on how autodiff treats ties of `minimum` or detached factors.
 * tests/golden/trl holds the results of TRL 1.16 for the same inputs.
 *
 *   loss = Σ c[n,t]·( keep·policy(w, A) + beta·kl ) - Σ e[n,t]·H[n,t]
 */
import { LabError } from "../../errors.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { klTerm } from "./kl.ts";
import { checkLoss, type LossSettings } from "./loss-types.ts";
import { aggregationWeights, entropyWeights, topEntropyMask } from "./loss-weights.ts";
import { objectiveTerm } from "./objective.ts";

export interface LossInputs {
  /** [N, T] log π of the taken actions under the weights being updated; the gradient flows into this. */
  readonly logps: Tensor;
  /** [N, T] under the weights that sampled; null = the same weights, every ratio is exactly 1. */
  readonly oldLogps: Tensor | null;
  /** [N, T] under the reference; needed when beta > 0. "own" = the same weights, the KL is exactly 0 at its minimum. */
  readonly refLogps: Tensor | "own" | null;
  /** [N, T] nats; needed for the entropy bonus, whose gradient flows into it, and for the top-entropy mask. */
  readonly entropies: Tensor | null;
  /** [N, T] 1 for counted actions; values at masked positions have no effect. */
  readonly mask: Tensor;
  /** [N] */
  readonly advantages: Tensor;
  /** [N] constant factors of the rows' policy and KL terms, e.g. probabilities of enumerated actions. */
  readonly rowWeights?: Tensor | null;
}

export interface PolicyLoss {
  /** The loss, to be differentiated. */
  readonly loss: tf.Scalar;
  /** Parts of the loss, which is their sum minus the entropy bonus. */
  readonly policy: tf.Scalar;
  readonly klPenalty: tf.Scalar;
}

/** Intermediate values for the parity check. */
export interface LossDetails {
  /** [N, T] policy and KL term before masking and aggregation (masked positions hold those of log-ratio 0). */
  readonly perToken: Tensor;
  /** [N, T] importance ratio, the row's value at sequence level. */
  readonly ratio: Tensor;
  /** [N, T] KL estimate; zeros without a reference. */
  readonly kl: Tensor;
  /** [N, T] d loss / d logps. */
  readonly gradLogps: Tensor;
}

/** Identity whose gradient is 0; tfjs has no such operation. */
export function stopGradient(x: Tensor): Tensor {
  const detach = tf.customGrad((input) => ({
    value: (input as Tensor).clone(),
    gradFunc: (dy: Tensor) => tf.zerosLike(dy),
  }));
  return detach(x);
}

/**
 * The loss of one micro-batch. The caller owns all returned tensors (inside `tf.tidy` or `tf.grads` they are freed
 * automatically).
 * @throws LabError("bad-config") for settings out of range, LabError("internal") for missing inputs
 */
export function policyLoss(inputs: LossInputs, settings: LossSettings): PolicyLoss {
  return tf.tidy(() => ({ ...attached(inputs, lossParts(inputs, settings)) }));
}

/** The same with all intermediate values. */
export function detailedLoss(inputs: LossInputs, settings: LossSettings): PolicyLoss & LossDetails {
  return tf.tidy(() => {
    const parts = lossParts(inputs, settings);
    return { ...attached(inputs, parts), ...parts.details() };
  });
}

function attached(inputs: LossInputs, parts: LossParts): PolicyLoss {
  const { policy, klPenalty, gradLogps, bonus } = parts;
  const total = bonus === null ? policy.add(klPenalty) : policy.add(klPenalty).sub(bonus.value);
  const byEntropy = bonus === null ? [] : [[inputs.entropies as Tensor, bonus.weights.neg()] as const];
  const loss = attachGradients(total as tf.Scalar, [[inputs.logps, gradLogps], ...byEntropy]);
  return { loss, policy, klPenalty };
}

interface LossParts {
  readonly policy: tf.Scalar;
  readonly klPenalty: tf.Scalar;
  readonly gradLogps: Tensor;
  /** The subtracted entropy bonus and its derivatives with respect to the entropies; null without a bonus. */
  readonly bonus: { readonly value: Tensor; readonly weights: Tensor } | null;
  readonly details: () => LossDetails;
}

/**
 * Factors and terms that the settings switch off are null and not computed, to save time in the many small losses of a
 * step.
 */
const times = (x: Tensor, factor: Tensor | null): Tensor => (factor === null ? x : x.mul(factor));
const sumOf = (terms: readonly (Tensor | null)[]): Tensor | null =>
  terms.reduce((sum, term) => (sum === null ? term : term === null ? sum : sum.add(term)), null);

function lossParts(inputs: LossInputs, settings: LossSettings): LossParts {
  checkLoss(settings);
  const { beta, level, klLevel, logRatioBound: bound, entropyCoefficient, topEntropyQuantile } = settings;
  if (beta > 0 && inputs.refLogps === null)
    throw new LabError("internal", "beta is above 0 but there are no reference log-probs");
  if ((entropyCoefficient !== 0 || topEntropyQuantile < 1) && inputs.entropies === null)
    throw new LabError("internal", "The loss needs the entropy, which is missing");
  const [rows, tokens] = inputs.logps.shape as [number, number];
  const mask = inputs.mask.toFloat();
  const none = tf.zerosLike(mask);
  const seen = mask.greater(0.5);
  const hide = (x: Tensor): Tensor => tf.where(seen, x, none);
  const advantages = inputs.advantages.reshape([rows, 1]);
  const lengths = mask.sum(1, true);
  const toRow = rowReduction(mask, lengths);

  // Ratio: log w at the level of the loss.
  const logps = hide(stopGradient(inputs.logps));
  const tokenLogRatio = inputs.oldLogps === null ? none : logps.sub(hide(inputs.oldLogps));
  const raw = level === "token" ? tokenLogRatio : toRow.reduce(tokenLogRatio, level);
  const logRatio = bound === null ? raw : raw.clipByValue(-bound, bound);
  const unbounded = bound === null ? null : raw.abs().lessEqual(bound).toFloat();

  // Policy term, and the tokens that keep it; masked tokens have weight 0 anyway.
  const rowSum = (x: Tensor): Tensor => toRow.reduce(x, "sequence_sum");
  const objective = objectiveTerm({ logps, logRatio, unbounded, tokenLogRatio, rowSum, advantages }, settings);
  const uncertain =
    topEntropyQuantile < 1 ? topEntropyMask(stopGradient(inputs.entropies as Tensor), mask, topEntropyQuantile) : null;
  const onPolicy = rowsOnPolicy(tokenLogRatio, advantages, toRow, settings.offPolicyThreshold);
  const keep = uncertain === null ? onPolicy : times(uncertain, onPolicy);

  // KL term: value, and derivatives with respect to the log-ratio to the reference and to the importance ratio.
  const ratio = (): Tensor => logRatio.exp();
  const { refLogps } = inputs;
  const toReference = refLogps === null ? null : refLogps === "own" ? none : logps.sub(hide(refLogps));
  const kl = toReference === null ? null : klParts(toReference, settings, toRow, ratio, unbounded);

  const rowWeights = inputs.rowWeights ? inputs.rowWeights.reshape([rows, 1]) : null;
  const weights = times(aggregationWeights(mask, lengths, settings, tokens), rowWeights);
  const policyTerm = times(objective.value, keep);
  const policy = weights.mul(policyTerm).sum() as tf.Scalar;
  const klPenalty = (kl === null ? tf.scalar(0) : weights.mul(kl.value).sum().mul(beta)) as tf.Scalar;

  const kept = (x: Tensor | null): Tensor | null => (x === null ? null : times(x, keep));
  const viaRatio = sumOf([kept(objective.viaRatio), kl?.viaRatio?.mul(beta) ?? null]);
  const viaLogp = kept(objective.viaLogp);
  const gradLogps = sumOf([
    viaLogp === null ? null : weights.mul(viaLogp),
    viaRatio === null ? null : toRow.spread(weights.mul(viaRatio), level),
    kl === null ? null : toRow.spread(weights.mul(kl.slope).mul(beta), klLevel),
  ]) as Tensor;

  const bonus = entropyCoefficient === 0 ? null : entropyWeights(uncertain ?? mask, settings);
  const bonusOf = (own: Tensor): Tensor => own.mul(hide(stopGradient(inputs.entropies as Tensor))).sum();
  return {
    policy,
    klPenalty,
    gradLogps,
    bonus: bonus === null ? null : { value: bonusOf(bonus), weights: bonus },
    details() {
      const spread = (x: Tensor): Tensor => x.add(none);
      const penalty = kl === null ? none : kl.value;
      return {
        perToken: spread(policyTerm.mul(mask).add(penalty.mul(beta))),
        ratio: spread(ratio()),
        kl: spread(penalty),
        gradLogps,
      };
    },
  };
}

type RowLevel = "token" | "gspo_token" | "sequence" | "sequence_sum";

/** Token values → one value per row, and the transpose of that map for gradients. */
interface RowReduction {
  /** [N, T] → [N, 1]: masked mean (`sequence`, `gspo_token`) or sum. */
  reduce(x: Tensor, level: RowLevel): Tensor;
  /**
   * Gradient with respect to a row value, given at every use [N, T] → gradient with respect to the tokens [N, T]. Token
   * levels are unchanged.
   */
  spread(uses: Tensor, level: RowLevel): Tensor;
}

function rowReduction(mask: Tensor, lengths: Tensor): RowReduction {
  const share = (): Tensor => mask.div(lengths.maximum(1));
  return {
    reduce: (x, level) => x.mul(level === "sequence_sum" ? mask : share()).sum(1, true),
    spread(uses, level) {
      if (level === "token" || level === "gspo_token") return uses;
      return uses.sum(1, true).mul(level === "sequence" ? share() : mask);
    },
  };
}

/**
 * 0 for rows with negative advantage whose probability has fallen (mean of old - new above the threshold), else 1; [N,
 * 1]. Null without a threshold.
 */
function rowsOnPolicy(
  tokenLogRatio: Tensor,
  advantages: Tensor,
  toRow: RowReduction,
  threshold: number | null,
): Tensor | null {
  if (threshold === null) return null;
  const drift = toRow.reduce(tokenLogRatio, "sequence").neg();
  return tf.scalar(1).sub(advantages.less(0).logicalAnd(drift.greater(threshold)).toFloat());
}

function klParts(
  toReference: Tensor,
  settings: LossSettings,
  toRow: RowReduction,
  ratio: () => Tensor,
  unbounded: Tensor | null,
): { value: Tensor; slope: Tensor; viaRatio: Tensor | null } {
  const levelled = settings.klLevel === "token" ? toReference : toRow.reduce(toReference, settings.klLevel);
  const term = klTerm(levelled, settings.klEstimator, settings.klClamp);
  if (!settings.biasCorrectedKl) return { ...term, viaRatio: null };
  const factor = ratio();
  const value = term.value.mul(factor);
  return { value, slope: term.slope.mul(factor), viaRatio: times(value, unbounded) };
}

/** A copy of `value` whose gradient with respect to each input is the given constant array. */
function attachGradients(
  value: tf.Scalar,
  gradients: readonly (readonly [input: Tensor, gradient: Tensor])[],
): tf.Scalar {
  const attach = tf.customGrad((...args) => {
    const save = args[args.length - 1] as unknown as tf.GradSaveFunc;
    save(gradients.map(([, gradient]) => gradient));
    return {
      value: value.clone(),
      gradFunc: (dy: Tensor, saved: Tensor[]) => saved.map((gradient) => gradient.mul(dy)),
    };
  });
  return attach(...gradients.map(([input]) => input)) as tf.Scalar;
}
