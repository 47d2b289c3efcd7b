/**
 * Transposes that move no data. A permutation that only moves axes of size 1, as in every single-token decoding step,
 * keeps the elements in order, so it can be a view like a reshape.
 */

import { customKernels } from "../runtime/custom-kernels.ts";
import { shareData } from "../runtime/program.ts";
import type { tf } from "../tf.ts";

/** True when `perm` keeps the order of the axes longer than 1. */
export function keepsOrder(shape: readonly number[], perm: readonly number[]): boolean {
  const long = perm.filter((axis) => shape[axis] !== 1);
  return long.every((axis, i) => i === 0 || axis > (long[i - 1] as number));
}

/** The transposed tensor as a view of the same data; undefined if elements have to move or custom kernels are off. */
export function transposedView(x: tf.TensorInfo, perm: readonly number[]): tf.TensorInfo | undefined {
  if (!customKernels() || !keepsOrder(x.shape, perm)) return undefined;
  const shape = perm.map((axis) => x.shape[axis] as number);
  return shareData(x, shape);
}
