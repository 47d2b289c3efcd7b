/** Optimiser steps of one tensor in stock operations, for the passes over many without custom kernels (../flat/passes.ts). */
import { type Tensor, tf } from "../tf.ts";

/** Numbers of one AdamW update, computed in double precision on the host. */
export interface AdamwNumbers {
  readonly beta1: number;
  readonly beta2: number;
  /** Added to the bias-corrected root of the second moment. */
  readonly eps: number;
  /** Factor of the weight: 1 − lr·decay. */
  readonly keep: number;
  /** lr / (1 − β1^t). */
  readonly stepSize: number;
  /** 1 / sqrt(1 − β2^t). */
  readonly rootScale: number;
}

/** One update (1711.05101). Returns the new parameter and both new moments, all owned by the caller. */
export function adamwUpdate(
  param: Tensor,
  grad: Tensor,
  m: Tensor,
  v: Tensor,
  { beta1, beta2, eps, keep, stepSize, rootScale }: AdamwNumbers,
): [Tensor, Tensor, Tensor] {
  return tf.tidy(() => {
    const newM = m.mul(beta1).add(grad.mul(1 - beta1));
    const newV = v.mul(beta2).add(grad.square().mul(1 - beta2));
    const root = newV.sqrt().mul(rootScale).add(eps);
    return [param.mul(keep).sub(newM.div(root).mul(stepSize)), newM, newV] as [Tensor, Tensor, Tensor];
  });
}

/** x + share · (goal − x), same shapes; owned by the caller. */
export function moveTowards(x: Tensor, goal: Tensor, share: number): Tensor {
  return tf.tidy(() => x.add(goal.sub(x).mul(share)));
}
