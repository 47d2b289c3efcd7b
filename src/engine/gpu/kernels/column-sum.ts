/** Sums over the rows of a matrix (gradients of biases and norm gains), without transpose or atomics. */

import { builtInForms } from "../forms/active.ts";
import { type GpuProgram, programOnce } from "../runtime/pipelines.ts";
import { flatGrid, release, runProgram } from "../runtime/program.ts";
import type { tf } from "../tf.ts";

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
