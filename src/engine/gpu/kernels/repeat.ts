import { customKernels } from "../runtime/custom-kernels.ts";
import { suits, toTensor } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";
import { columnSum } from "./column-sum.ts";

/**
 * Repeats every row of a tensor: row i becomes rows i·times … i·times + times − 1. The gradient is one sum over the
 * copies, whereas that of `tf.tile` slices and adds each copy separately.
 * @param x [n, …]
 * @param times copies, at least 1
 * @returns [n · times, …]
 */
export function repeatRows(x: Tensor, times: number): Tensor {
  if (times === 1) return x;
  const [rows, ...rest] = x.shape as [number, ...number[]];
  const [width, shape] = [x.size / rows, [rows * times, ...rest]];
  const copied = (given: Tensor): Tensor =>
    rows === 1
      ? tf.tile(given, [times, ...rest.map(() => 1)])
      : tf.tile(given.reshape([rows, 1, width]), [1, times, 1]).reshape(shape);
  if (!customKernels() || !suits(x)) return tf.tidy(() => copied(x));
  const repeat = tf.customGrad((given) => ({
    value: tf.tidy(() => copied(given as Tensor)),
    gradFunc: (gradient: Tensor) =>
      tf.tidy(() =>
        rows === 1
          ? toTensor(columnSum(gradient, times, width)).reshape(x.shape)
          : gradient.reshape([rows, times, width]).sum(1).reshape(x.shape),
      ),
  }));
  return repeat(x);
}

/** A tensor with `counts` zeros added at the end of each axis; the tensor itself if there are none to add. */
export function zerosBehind(x: Tensor, counts: readonly number[]): Tensor {
  if (counts.every((count) => count === 0)) return x;
  return tf.pad(
    x,
    counts.map((count): [number, number] => [0, count]),
  );
}

/**
 * Rows of a tensor by index, which may repeat; the tensor itself if these are all its rows in order. Not
 * differentiable.
 */
export function pickRows(x: Tensor, rows: readonly number[]): Tensor {
  const stored = x.shape[0] as number;
  if (stored === rows.length && rows.every((row, at) => row === at)) return x;
  const times = rows.length / stored;
  if (Number.isInteger(times) && rows.every((row, at) => row === Math.floor(at / times))) return repeatRows(x, times);
  return tf.tidy(() => tf.gather(x, tf.tensor1d([...rows], "int32")));
}
