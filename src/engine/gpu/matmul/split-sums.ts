/** Adds the products over the pieces of a long K, piece after piece; without atomics, every run gives the same bits. */
import type { GpuProgram } from "../runtime/pipelines.ts";
import { flatGrid, runProgram } from "../runtime/program.ts";
import type { tf } from "../tf.ts";
import type { ProductExtras } from "./product-spec.ts";

const LANES = 64;

const SUM: GpuProgram = {
  name: "lab-matmul-split-sums",
  inputs: { parts: "f32", bias: "f32", extra: "f32" },
  outputs: { result: "f32" },
  uniforms: { size: "u32", n: "u32", pieces: "u32", hasBias: "u32", hasExtra: "u32", alpha: "f32" },
  workgroup: [LANES, 1],
  body: `
    let at = (group.y * groups.x + group.x) * ${LANES}u + local.x;
    if (at >= u.size) { return; }
    var sum = 0.0;
    for (var piece = 0u; piece < u.pieces; piece++) { sum += parts[piece * u.size + at]; }
    sum *= u.alpha;
    if (u.hasBias != 0u) { sum += bias[at % u.n]; }
    if (u.hasExtra != 0u) { sum += extra[at]; }
    result[at] = sum;`,
};

/** @param parts [pieces, M, N] @returns a tensor of `shape`, M · N elements */
export function addPieces(
  parts: tf.TensorInfo,
  shape: readonly number[],
  { alpha = 1, bias, add }: ProductExtras,
): tf.TensorInfo {
  const [pieces, m, n] = parts.shape as [number, number, number];
  const flags = [bias, add].map((given) => Number(given !== undefined));
  const grid = flatGrid(Math.ceil((m * n) / LANES));
  const inputs = [parts, bias ?? parts, add ?? parts];
  return runProgram(SUM, inputs, [{ shape }], [m * n, n, pieces, ...flags, alpha], grid)[0] as tf.TensorInfo;
}
