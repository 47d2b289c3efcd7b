/**
 * Transposes that move no data. A permutation that only carries axes of size 1 past others, as every transpose of a
 * single-token decoding step does, leaves the elements in order, so it can be a view like a reshape.
 */

import { ownKernels } from "./own-kernels.ts";
import { shareData } from "./program.ts";
import { tf } from "./tf.ts";

let installed = false;

/** True when `perm` keeps the axes longer than 1 in their order. */
export function keepsOrder(shape: readonly number[], perm: readonly number[]): boolean {
  const long = perm.filter((axis) => shape[axis] !== 1);
  return long.every((axis, i) => i === 0 || axis > (long[i - 1] as number));
}

/** Wraps the backend's Transpose once per realm; calling it again does nothing. */
export function installViewTranspose(): void {
  if (installed) return;
  const stock = tf.getKernel("Transpose", "webgpu");
  if (stock === undefined) return;
  installed = true;
  tf.unregisterKernel("Transpose", "webgpu");
  tf.registerKernel({
    ...stock,
    kernelFunc(params) {
      const x = params.inputs.x as tf.TensorInfo;
      const { perm } = params.attrs as { perm: number[] };
      if (!ownKernels() || !keepsOrder(x.shape, perm)) return stock.kernelFunc(params);
      return shareData(
        x,
        perm.map((axis) => x.shape[axis] as number),
      );
    },
  });
}
