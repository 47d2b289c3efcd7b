/** The policy term of the loss and its two derivatives. */
import { type Tensor, tf } from "../../gpu/tf.ts";
import { VESPO_BOUNDS, VESPO_LEAST_LAMBDA, VESPO_TOKEN_BOUND } from "./host-terms.ts";
import type { LossSettings } from "./loss-types.ts";

/**
 * One term per token or per row: shapes broadcast against [N, T].
 * `viaRatio` = d value / d log w, `viaLogp` = d value / d logp with the ratio constant; null where it is 0.
 */
export interface ObjectiveTerm {
  readonly value: Tensor;
  readonly viaRatio: Tensor | null;
  readonly viaLogp: Tensor | null;
}

export interface ObjectiveInputs {
  /** [N, T], masked positions 0. */
  readonly logps: Tensor;
  /** [N, T] or [N, 1] log-ratio at the level of the loss, already bounded. */
  readonly logRatio: Tensor;
  /** 1 where the bound left the log-ratio alone, shape of logRatio; null without a bound. */
  readonly unbounded: Tensor | null;
  /** [N, T] log-ratios of the tokens, masked positions 0. */
  readonly tokenLogRatio: Tensor;
  /** [N, T] → [N, 1] sum over the row. */
  readonly rowSum: (x: Tensor) => Tensor;
  /** [N, 1] */
  readonly advantages: Tensor;
}

export function objectiveTerm(inputs: ObjectiveInputs, settings: LossSettings): ObjectiveTerm {
  switch (settings.objective) {
    case "clip":
      return clipTerm(inputs, settings);
    case "sapo":
      return sapoTerm(inputs, settings);
    case "cispo": {
      const weight = inputs.logRatio.exp().clipByValue(settings.weightMin, settings.weightMax);
      return weightedLogp(weight, inputs);
    }
    case "vespo":
      return weightedLogp(vespoWeight(inputs, settings), inputs);
  }
}

/** -min(min(w, delta)·A, clip(w)·A). At w = 1 both arguments are equal and the gradient is -A. */
function clipTerm({ logRatio, unbounded, advantages }: ObjectiveInputs, settings: LossSettings): ObjectiveTerm {
  const [low, high] = [1 - settings.epsLow, 1 + settings.epsHigh];
  const ratio = logRatio.exp();
  const capped = settings.delta === null ? ratio : ratio.minimum(settings.delta);
  const open = capped.mul(advantages);
  const closed = ratio.clipByValue(low, high).mul(advantages);
  const closedActive = ratio.greaterEqual(low).logicalAnd(ratio.lessEqual(high));
  const takesOpen = open.lessEqual(closed);
  const openActive = settings.delta === null ? takesOpen : takesOpen.logicalAnd(ratio.lessEqual(settings.delta));
  const active = openActive.logicalOr(takesOpen.logicalNot().logicalAnd(closedActive));
  const slope = unless(ratio.mul(advantages), unbounded).neg();
  return {
    value: open.minimum(closed).neg(),
    viaRatio: tf.where(active, slope, tf.zerosLike(slope)),
    viaLogp: null,
  };
}

/** The slope, 0 where the log-ratio was bounded. */
function unless(slope: Tensor, unbounded: Tensor | null): Tensor {
  return unbounded === null ? slope : slope.mul(unbounded);
}

function sapoTerm({ logRatio, unbounded, advantages }: ObjectiveInputs, { sapo }: LossSettings): ObjectiveTerm {
  const ratio = logRatio.exp();
  const k = bySign(advantages.greater(0), sapo.positive, sapo.negative);
  const gate = tf.sigmoid(ratio.sub(1).mul(k));
  const slope = unless(gate.mul(tf.scalar(1).sub(gate)).mul(ratio).mul(advantages), unbounded).mul(-4);
  return { value: gate.mul(advantages).div(k).mul(-4), viaRatio: slope, viaLogp: null };
}

/** φ = exp(λ + k·log w - λ·w) of the row's bounded summed log-ratio, [N, 1]; 0 where it overflows. */
function vespoWeight(
  { tokenLogRatio, rowSum, advantages }: Pick<ObjectiveInputs, "tokenLogRatio" | "rowSum" | "advantages">,
  { vespo }: LossSettings,
): Tensor {
  const good = advantages.greaterEqual(0);
  const k = bySign(good, vespo.kPositive, vespo.kNegative);
  const [positive, negative] = [vespo.lambdaPositive, vespo.lambdaNegative].map((l) => Math.max(VESPO_LEAST_LAMBDA, l));
  const lambda = bySign(good, positive as number, negative as number);
  const summed = rowSum(tokenLogRatio.clipByValue(-VESPO_TOKEN_BOUND, VESPO_TOKEN_BOUND));
  const logRatio = summed.clipByValue(...VESPO_BOUNDS);
  const phi = lambda.add(k.mul(logRatio)).sub(lambda.mul(logRatio.exp())).exp();
  return tf.where(phi.isFinite(), phi, tf.zerosLike(phi));
}

/** -stop(weight)·A·logp. */
function weightedLogp(weight: Tensor, { logps, advantages }: ObjectiveInputs): ObjectiveTerm {
  const slope = weight.mul(advantages).neg();
  return { value: slope.mul(logps), viaRatio: null, viaLogp: slope };
}

function bySign(positive: Tensor, whenTrue: number, otherwise: number): Tensor {
  return positive
    .toFloat()
    .mul(whenTrue - otherwise)
    .add(otherwise);
}
