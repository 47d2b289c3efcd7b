import { builtInForms } from "../forms/active.ts";
import { customKernels, suits, toTensor } from "../runtime/custom-op.ts";
import { type GpuProgram, programOnce } from "../runtime/pipelines.ts";
import { flatGrid, release, runProgram } from "../runtime/program.ts";
import { type Tensor, tf } from "../tf.ts";

// Sums over the rows of a matrix (gradients of biases and norm gains), without transpose or atomics.

/** Rows per thread; longer matrices take a second pass over the partial sums. */
const CHUNK = 64;

const term = (name: string, load: string, lanes: number): GpuProgram => ({
  name,
  inputs: { x: "f32", y: "f32", stats: "f32" },
  outputs: { result: "f32" },
  uniforms: { rows: "u32", width: "u32", chunk: "u32", chunks: "u32" },
  workgroup: [lanes, 1],
  body: `
    let tile = (group.y * groups.x + group.x) * ${lanes}u + local.x;
    let column = tile % u.width;
    let part = tile / u.width;
    if (part >= u.chunks) { return; }
    let end = min((part + 1u) * u.chunk, u.rows);
    var total = 0.0;
    for (var row = part * u.chunk; row < end; row++) {
      let at = row * u.width + column;
      total += ${load};
    }
    result[part * u.width + column] = total;`,
});

/** `normed` is x · (y − mean) · scale with [mean, scale] of each row in `stats`. */
const TERMS = {
  plain: "x[at]",
  normed: "x[at] * (y[at] - stats[2u * row]) * stats[2u * row + 1u]",
} as const;

function programOf(kind: keyof typeof TERMS): GpuProgram {
  const { lanes } = builtInForms();
  const name = `lab-column-sum-${kind}-${lanes}`;
  return programOnce(name, () => term(name, TERMS[kind], lanes));
}

/**
 * Σ_rows x [rows, width] → [width]; with `normed`, Σ x · (y − mean) · scale, [mean, scale] per row in `stats` [rows,
 * 2].
 */
export function columnSum(
  x: tf.TensorInfo,
  rows: number,
  width: number,
  normed?: { readonly y: tf.TensorInfo; readonly stats: tf.TensorInfo },
): tf.TensorInfo {
  const chunks = Math.ceil(rows / CHUNK);
  const program = programOf(normed === undefined ? "plain" : "normed");
  const grid = flatGrid(Math.ceil((chunks * width) / program.workgroup[0]));
  const inputs = [x, normed?.y ?? x, normed?.stats ?? x];
  const shape = chunks === 1 ? [width] : [chunks, width];
  const [sums] = runProgram(program, inputs, [{ shape }], [rows, width, CHUNK, chunks], grid) as [tf.TensorInfo];
  if (chunks === 1) return sums;
  const total = columnSum(sums, chunks, width);
  release(sums);
  return total;
}

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
