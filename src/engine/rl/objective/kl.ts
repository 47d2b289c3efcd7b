/** Estimators of KL(policy, reference) on one sampled action (docs/spec/grpo.md#5-kl-to-the-reference). */
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { KlEstimator, LossSettings } from "./loss-types.ts";

type KlClamp = LossSettings["klClamp"];

/** Value of the estimate and its derivative with respect to `logp`, same shape as the input. */
export interface KlTerm {
  readonly value: Tensor;
  readonly slope: Tensor;
}

/**
 * Estimate from the log-ratio `toReference` = logp - ref (any shape). Only k3 can overflow, so only k3 is clamped; a
 * clamped value has slope 0. Call inside a `tf.tidy`.
 */
export function klTerm(toReference: Tensor, estimator: KlEstimator, clamp: KlClamp): KlTerm {
  switch (estimator) {
    case "k1":
      return { value: toReference, slope: tf.onesLike(toReference) };
    case "notes":
      return { value: toReference.neg(), slope: tf.onesLike(toReference).neg() };
    case "abs":
      return { value: toReference.abs(), slope: toReference.sign() };
    case "k2":
      return { value: toReference.square().div(2), slope: toReference };
    case "k3":
      return k3Term(toReference, clamp);
    case "k3-value-k2-gradient":
      return { value: k3Term(toReference, clamp).value, slope: toReference };
  }
}

function k3Term(toReference: Tensor, clamp: KlClamp): KlTerm {
  const q = toReference.neg();
  if (clamp === null) {
    // expm1 keeps the digits that exp(q) - 1 loses near q = 0.
    const growth = tf.expm1(q);
    return { value: growth.sub(q), slope: growth.neg() };
  }
  const held = q.clipByValue(-clamp.difference, clamp.difference);
  const growth = tf.expm1(held);
  const value = growth.sub(held);
  const free = q.abs().lessEqual(clamp.difference).logicalAnd(value.lessEqual(clamp.value));
  return {
    value: value.minimum(clamp.value),
    slope: tf.where(free, growth.neg(), tf.zerosLike(growth)),
  };
}
