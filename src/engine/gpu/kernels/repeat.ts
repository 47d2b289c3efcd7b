import { ownKernels } from "../own-kernels.ts";
import { suits, toTensor } from "../own-op.ts";
import { type Tensor, tf } from "../tf.ts";
import { columnSum } from "./column-sum.ts";

/**
 * Repeats a tensor along its first axis, which has size 1. The gradient is one sum over the rows; the one of `tf.tile`,
 * the stock way, cuts out and adds every copy by itself.
 * @param x [1, …]
 * @param rows copies, at least 1
 * @returns [rows, …]
 */
export function repeatRows(x: Tensor, rows: number): Tensor {
  if (rows === 1) return x;
  const copies = [rows, ...x.shape.slice(1).map(() => 1)];
  if (!ownKernels() || !suits(x)) return tf.tile(x, copies);
  const repeat = tf.customGrad((given) => ({
    value: tf.tile(given as Tensor, copies),
    gradFunc: (gradient: Tensor) => tf.tidy(() => toTensor(columnSum(gradient, rows, x.size)).reshape(x.shape)),
  }));
  return repeat(x);
}
