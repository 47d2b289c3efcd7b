/**
 * Transposes that move no data. A permutation that only carries axes of size 1 past others, as every transpose of a
 * single-token decoding step does, leaves the elements in order, so it can be a view like a reshape.
 */

import { customKernels } from "../runtime/custom-kernels.ts";
import { shareData } from "../runtime/program.ts";
import type { tf } from "../tf.ts";

/** True when `perm` keeps the axes longer than 1 in their order. */
export function keepsOrder(shape: readonly number[], perm: readonly number[]): boolean {
  const long = perm.filter((axis) => shape[axis] !== 1);
  return long.every((axis, i) => i === 0 || axis > (long[i - 1] as number));
}

/** The transposed tensor as a view of the same data; undefined where elements have to move, or stock ops are asked for. */
export function transposedView(x: tf.TensorInfo, perm: readonly number[]): tf.TensorInfo | undefined {
  if (!customKernels() || !keepsOrder(x.shape, perm)) return undefined;
  return shareData(
    x,
    perm.map((axis) => x.shape[axis] as number),
  );
}
