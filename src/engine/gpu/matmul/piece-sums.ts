/**
 * Sums of products over the pieces of a long K: separate workgroups compute every piece, and this program adds them,
 * piece after piece, with what follows a product. Without atomics every run gives the same bits.
 */

import type { TileForm } from "../forms/records.ts";
import { type GpuProgram, programOnce } from "../runtime/pipelines.ts";
import {
  flatGrid,
  type OutputInto,
  type OutputSpec,
  type ProgramInput,
  release,
  runProgram,
} from "../runtime/program.ts";
import type { tf } from "../tf.ts";
import {
  ACTIVATED,
  type Activation,
  type AfterSums,
  activationCode,
  afterBeside,
  afterCode,
} from "./activation-code.ts";

// Dispatches of programs that may apply an activation to their sums (activation-code.ts).

/** A dispatch with one output, in the form that `runProgram` takes. */
interface ProductRun {
  readonly program: GpuProgram;
  readonly inputs: readonly ProgramInput[];
  readonly values: OutputSpec | OutputInto;
  readonly uniforms: readonly number[];
  readonly grid: readonly [number, number, number];
}

/** The rows of an activation's tensors that a dispatch uses. */
interface After extends Pick<AfterSums, "kind"> {
  readonly other?: ProgramInput | undefined;
  readonly sums?: OutputInto | undefined;
}

/** Bound as the second output if no sums are stored; nothing is written to it. */
const UNUSED: OutputSpec = { shape: [4] };

/**
 * Records a product and its activation.
 * @param idle bound in place of `other` if the activation has none; at least one group of four
 * @returns the values
 */
export function runActivated(run: ProductRun, after: After | undefined, idle: ProgramInput): tf.TensorInfo {
  const { program, inputs, values, uniforms, grid } = run;
  if (after === undefined) return runProgram(program, inputs, [values], uniforms, grid)[0] as tf.TensorInfo;
  const { kind, other = idle, sums } = after;
  const kept = sums !== undefined;
  const outputs = kept ? [sums, values] : [values, UNUSED];
  const own = [activationCode(kind), kept ? 1 : 0];
  const [result, activated] = runProgram(program, [...inputs, other], outputs, [...uniforms, ...own], grid) as [
    tf.TensorInfo,
    tf.TensorInfo,
  ];
  if (kept) return activated;
  release(activated);
  return result;
}

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

interface PieceSums {
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
