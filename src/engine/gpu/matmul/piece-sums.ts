/**
 * Sums of products over the pieces of a long K: separate workgroups compute every piece, and this program adds them,
 * piece after piece, with what follows a product. Without atomics every run gives the same bits.
 */
import type { TileForm } from "../forms/records.ts";
import { type GpuProgram, programOnce } from "../runtime/pipelines.ts";
import { flatGrid, type OutputInto, type OutputSpec, type ProgramInput } from "../runtime/program.ts";
import type { tf } from "../tf.ts";
import { ACTIVATED, type Activation, afterBeside, afterCode } from "./activation-code.ts";
import { runActivated } from "./run-activated.ts";

const LANES = 64;

function sumProgram(activates: boolean): GpuProgram {
  const beside = afterBeside(activates, "f32" as const);
  return {
    name: `lab-matmul-split-sums${activates ? ACTIVATED : ""}`,
    inputs: { parts: "f32", bias: "f32", extra: "f32", ...beside.inputs },
    outputs: { result: "f32", ...beside.outputs },
    uniforms: {
      ...{ size: "u32", n: "u32", pieces: "u32", width: "u32", first: "u32" },
      ...{ hasBias: "u32", hasExtra: "u32", adds: "u32", alpha: "f32" },
      ...beside.uniforms,
    },
    workgroup: [LANES, 1],
    header: afterCode(activates, "f32"),
    body: `
    let i = (group.y * groups.x + group.x) * ${LANES}u + local.x;
    if (i >= u.size) { return; }
    var sum = 0.0;
    for (var piece = 0u; piece < u.pieces; piece++) { sum += parts[piece * u.size + i]; }
    sum *= u.alpha;
    let col = u.first + i % u.n;
    let at = i / u.n * u.width + col;
    if (u.hasBias != 0u) { sum += bias[col]; }
    if (u.hasExtra != 0u) { sum += extra[at]; }
    if (u.adds != 0u) { sum += result[at]; }
    result[at] = sum;
    ${activates ? "after(at);" : ""}`,
  };
}

/** Steps of K per piece, and their number; one piece if K is too short to be split. */
export function piecesOf(
  { split = 1, k: step }: TileForm,
  k: number,
): { readonly length: number; readonly count: number } {
  const length = Math.max(step, Math.ceil(k / split / step) * step);
  return { length, count: Math.max(1, Math.ceil(k / length)) };
}

export interface PieceSums {
  /** Width of the result and the first column that is written; by default the sums are the whole result. */
  readonly width?: number;
  readonly first?: number;
  readonly alpha?: number | undefined;
  /** [width] */
  readonly bias?: tf.TensorInfo | undefined;
  /** Shaped like the result. */
  readonly add?: tf.TensorInfo | undefined;
  /** Whether to add to the result. */
  readonly adds?: boolean;
  readonly after?:
    | {
        readonly kind: Activation;
        readonly other?: ProgramInput | undefined;
        readonly sums?: OutputInto | undefined;
      }
    | undefined;
}

/** Adds `parts`, [pieces, M, N], into columns of a result. */
export function addPieces(
  parts: tf.TensorInfo,
  values: OutputSpec | OutputInto,
  { width, first = 0, alpha = 1, bias, add, adds = false, after }: PieceSums,
): tf.TensorInfo {
  const [pieces, m, n] = parts.shape as [number, number, number];
  const flags = [bias !== undefined, add !== undefined, adds].map(Number);
  const activates = after !== undefined;
  return runActivated(
    {
      program: programOnce(`split-sums-${activates}`, () => sumProgram(activates)),
      inputs: [parts, bias ?? parts, add ?? parts],
      values,
      uniforms: [m * n, n, pieces, width ?? n, first, ...flags, alpha],
      grid: flatGrid(Math.ceil((m * n) / LANES)),
    },
    after,
    parts,
  );
}
