/**
 * The policy loss of GRPO and its relatives as one custom gradient over per-token log-probs and entropies. Value and
 * gradient are written out side by side, so nothing depends on how an autodiff system treats ties of `minimum` or
 * detached factors (reference: grpo.md §4 to §8, §22).
 *
 *   loss = Σ c[n,t]·( keep·policy(w, A) + beta·kl ) - Σ e[n,t]·H[n,t]
 */
import { LabError } from "../errors.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { klTerm } from "./kl.ts";
import { checkLoss, type LossSettings } from "./loss-types.ts";
import { aggregationWeights, entropyWeights, topEntropyMask } from "./loss-weights.ts";
import { objectiveTerm } from "./objective.ts";

export interface LossInputs {
  /** [N, T] log π of the taken actions under the weights being updated; the gradient flows into this. */
  readonly logps: Tensor;
  /** [N, T] under the weights that sampled; null = the same weights, every ratio is exactly 1. */
  readonly oldLogps: Tensor | null;
  /** [N, T] under the reference; needed when beta > 0. */
  readonly refLogps: Tensor | null;
  /** [N, T] nats; needed for the entropy bonus and the top-entropy mask; the bonus' gradient flows into this. */
  readonly entropies: Tensor | null;
  /** [N, T] 1 for counted actions; whatever stands at masked positions never matters. */
  readonly mask: Tensor;
  /** [N] */
  readonly advantages: Tensor;
  /** [N] constant factors of the rows' policy and KL terms, e.g. probabilities of enumerated actions. */
  readonly rowWeights?: Tensor | null;
}

export interface PolicyLoss {
  /** What is differentiated. */
  readonly loss: tf.Scalar;
  /** Parts: loss = policy + klPenalty - entropyBonus. */
  readonly policy: tf.Scalar;
  readonly klPenalty: tf.Scalar;
  readonly entropyBonus: tf.Scalar;
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
 * The loss of one micro-batch. All tensors returned belong to the caller (inside `tf.tidy` or `tf.grads` nothing is left
 * to do).
 * @throws LabError("bad-config") for settings out of range, LabError("internal") for missing inputs
 */
export function policyLoss(inputs: LossInputs, settings: LossSettings): PolicyLoss {
  checkLoss(settings);
  if (settings.beta > 0 && inputs.refLogps === null)
    throw new LabError("internal", "beta is above 0 but there are no reference log-probs.");
  if ((settings.entropyCoefficient !== 0 || settings.topEntropyQuantile < 1) && inputs.entropies === null)
    throw new LabError("internal", "The loss uses the entropy but was given none.");
  return tf.tidy(() => {
    const parts = lossParts(inputs, settings);
    const loss = attachGradients(parts.total, [
      [inputs.logps, parts.result.gradLogps],
      ...(inputs.entropies === null ? [] : [[inputs.entropies, parts.gradEntropies] as const]),
    ]);
    return { ...parts.result, loss };
  });
}

interface LossParts {
  readonly total: tf.Scalar;
  readonly gradEntropies: Tensor;
  readonly result: Omit<PolicyLoss, "loss">;
}

function lossParts(inputs: LossInputs, settings: LossSettings): LossParts {
  const [rows, tokens] = inputs.logps.shape as [number, number];
  const mask = inputs.mask.toFloat();
  const visible = settings.aggregation === "padded-grid" ? tf.onesLike(mask) : mask;
  const hide = (x: Tensor): Tensor => tf.where(visible.greater(0.5), x, tf.zerosLike(mask));
  const advantages = inputs.advantages.reshape([rows, 1]);
  const lengths = mask.sum(1, true);
  const toRow = rowReduction(mask, lengths);

  // Ratio: log w at the level of the loss.
  const logps = hide(stopGradient(inputs.logps));
  const tokenLogRatio = inputs.oldLogps === null ? tf.zerosLike(mask) : logps.sub(hide(inputs.oldLogps));
  const raw = settings.level === "token" ? tokenLogRatio : toRow.reduce(tokenLogRatio, settings.level);
  const bound = settings.logRatioBound;
  const logRatio = bound === null ? raw : raw.clipByValue(-bound, bound);
  const unbounded = bound === null ? tf.onesLike(raw) : raw.abs().lessEqual(bound).toFloat();
  const rowLogRatio = toRow.reduce(tokenLogRatio, "sequence_sum");

  // Policy term, and the tokens that keep it.
  const objective = objectiveTerm({ logps, logRatio, unbounded, rowLogRatio, advantages }, settings);
  const uncertain =
    settings.topEntropyQuantile < 1
      ? topEntropyMask(stopGradient(inputs.entropies as Tensor), mask, settings.topEntropyQuantile)
      : mask;
  const keep = tf
    .where(visible.greater(mask), visible, uncertain)
    .mul(rowsOnPolicy(tokenLogRatio, advantages, toRow, settings.offPolicyThreshold));

  // KL term: value, slope by the log-ratio to the reference, slope by the importance ratio.
  const ratio = logRatio.exp();
  const toReference = inputs.refLogps === null ? null : logps.sub(hide(inputs.refLogps));
  const kl = klParts(toReference, settings, toRow, ratio, unbounded);

  const weights = aggregationWeights(mask, lengths, settings, tokens).mul(
    inputs.rowWeights ? inputs.rowWeights.reshape([rows, 1]) : 1,
  );
  const spread = (x: Tensor): Tensor => x.add(tf.zerosLike(mask));
  const policyTerm = objective.value.mul(keep);
  const policy = weights.mul(policyTerm).sum() as tf.Scalar;
  const klPenalty = weights.mul(kl.value).sum().mul(settings.beta) as tf.Scalar;

  const viaRatio = objective.viaRatio.mul(keep).add(kl.viaRatio.mul(settings.beta));
  const gradLogps = weights
    .mul(objective.viaLogp.mul(keep))
    .add(toRow.spread(weights.mul(viaRatio), settings.level))
    .add(toRow.spread(weights.mul(kl.slope).mul(settings.beta), settings.klLevel));

  const bonusWeights = entropyWeights(mask, uncertain, settings);
  const entropies = inputs.entropies === null ? tf.zerosLike(mask) : hide(stopGradient(inputs.entropies));
  const entropyBonus = bonusWeights.mul(entropies).sum() as tf.Scalar;
  return {
    total: policy.add(klPenalty).sub(entropyBonus) as tf.Scalar,
    gradEntropies: bonusWeights.neg(),
    result: {
      policy,
      klPenalty,
      entropyBonus,
      perToken: spread(policyTerm.add(kl.value.mul(settings.beta))),
      ratio: spread(ratio),
      kl: spread(kl.value),
      gradLogps,
    },
  };
}

type RowLevel = "token" | "gspo_token" | "sequence" | "sequence_sum";

/** Token values → one value per row, and the transpose of that map for gradients. */
interface RowReduction {
  /** [N, T] → [N, 1]: masked mean (`sequence`, `gspo_token`) or sum. */
  reduce(x: Tensor, level: RowLevel): Tensor;
  /** Gradient by a row value, given per use [N, T] → gradient by the tokens [N, T]. Token levels pass through. */
  spread(uses: Tensor, level: RowLevel): Tensor;
}

function rowReduction(mask: Tensor, lengths: Tensor): RowReduction {
  const share = mask.div(lengths.maximum(1));
  return {
    reduce: (x, level) => x.mul(level === "sequence_sum" ? mask : share).sum(1, true),
    spread(uses, level) {
      if (level === "token" || level === "gspo_token") return uses;
      return uses.sum(1, true).mul(level === "sequence" ? share : mask);
    },
  };
}

/** 0 for rows with negative advantage that the policy has left (mean of old - new above the threshold), else 1; [N, 1]. */
function rowsOnPolicy(
  tokenLogRatio: Tensor,
  advantages: Tensor,
  toRow: RowReduction,
  threshold: number | null,
): Tensor {
  if (threshold === null) return tf.onesLike(advantages);
  const drift = toRow.reduce(tokenLogRatio, "sequence").neg();
  return tf.scalar(1).sub(advantages.less(0).logicalAnd(drift.greater(threshold)).toFloat());
}

function klParts(
  toReference: Tensor | null,
  settings: LossSettings,
  toRow: RowReduction,
  ratio: Tensor,
  unbounded: Tensor,
): { value: Tensor; slope: Tensor; viaRatio: Tensor } {
  if (toReference === null) {
    const none = tf.zerosLike(ratio);
    return { value: none, slope: none, viaRatio: none };
  }
  const levelled = settings.klLevel === "token" ? toReference : toRow.reduce(toReference, settings.klLevel);
  const term = klTerm(levelled, settings.klEstimator, settings.klClamp);
  if (!settings.biasCorrectedKl) return { ...term, viaRatio: tf.zerosLike(ratio) };
  const value = term.value.mul(ratio);
  return { value, slope: term.slope.mul(ratio), viaRatio: value.mul(unbounded) };
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
