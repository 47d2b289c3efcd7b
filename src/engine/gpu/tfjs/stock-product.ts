/** The backend's matrix product, in runs of rows if one dispatch would run too long. */

import { countWork, rowRuns } from "../runtime/work-budget.ts";
import { tf } from "../tf.ts";

/** Position of the result's rows in the first operand. */
interface Rows {
  readonly a: tf.TensorInfo;
  readonly transposeA: boolean;
  /** Multiply-adds per row, over the whole batch. */
  readonly perRow: number;
}

/** A kernel of the backend by its name. */
function run(name: string, inputs: Readonly<Record<string, tf.TensorInfo>>, attrs: object): tf.TensorInfo {
  const kernel = tf.getKernel(name, "webgpu");
  return kernel?.kernelFunc({ inputs, backend: tf.backend(), attrs: attrs as never }) as tf.TensorInfo;
}

/** The backend's product of whole tensors, [..., M, N]. */
export function stockProduct(
  a: tf.TensorInfo,
  b: tf.TensorInfo,
  transposeA: boolean,
  transposeB: boolean,
): tf.TensorInfo {
  return run("BatchMatMul", { a, b }, { transposeA, transposeB });
}

/**
 * The product, split along its rows as the budget requires. Parts are copied out and concatenated, which costs little
 * next to the products.
 * @param product multiplies some rows of `a` with the whole other operand, [..., rows, N]
 */
export function inRuns({ a, transposeA, perRow }: Rows, product: (a: tf.TensorInfo) => tf.TensorInfo): tf.TensorInfo {
  const axis = a.shape.length - (transposeA ? 1 : 2);
  const rows = a.shape[axis] as number;
  const runs = rowRuns(rows, perRow);
  const parts = runs.map(({ from, count }) => {
    if (count === rows) return product(a);
    const begin = a.shape.map((_, at) => (at === axis ? from : 0));
    const size = a.shape.map((length, at) => (at === axis ? count : length));
    const part = run("Slice", { x: a }, { begin, size });
    const y = product(part);
    release(part);
    countWork(count * perRow);
    return y;
  });
  if (parts.length === 1) return parts[0] as tf.TensorInfo;
  const inputs = parts as unknown as Readonly<Record<string, tf.TensorInfo>>;
  const whole = run("Concat", inputs, { axis: a.shape.length - 2 });
  for (const part of parts) release(part);
  return whole;
}

function release(info: tf.TensorInfo): void {
  tf.backend().disposeData(info.dataId);
}
