/**
 * One program for all operations that move elements without changing them: slices, concatenations, repeats, transposes.
 * A thread copies a run of adjacent elements of the result and computes its position once per run; the backend's
 * programs do so per element, with one program per operation and rank. For software adapters: on a GPU adjacent threads
 * should copy adjacent elements.
 *
 * Layout: result[to(c) + n] = x[from(c) + n · step] over up to four outer axes c and the run n; in groups of four
 * elements where everything is a multiple of four. Numerics: none.
 */

import { builtInForms } from "../forms/active.ts";
import { customKernels, suits, toTensor } from "../runtime/custom-op.ts";
import type { GpuProgram } from "../runtime/pipelines.ts";
import { flatGrid, type OutputInto, type OutputSpec, runProgram } from "../runtime/program.ts";
import { type Tensor, tf } from "../tf.ts";

/** An axis of a copy: its size, and the strides in source and result. */
interface CopyAxis {
  readonly size: number;
  /** 0 where the source is repeated. */
  readonly from: number;
  readonly to: number;
}

interface StridedCopy {
  /** Outermost first. */
  readonly axes: readonly CopyAxis[];
  /** First element in source and result. */
  readonly fromAt: number;
  readonly toAt: number;
}

const OUTER = 4;
const THREADS = 64;
/** Maximum groups of elements per thread. */
const PIECE = 16;
/** Minimum number of threads, unless each thread already has only one group. */
const FEWEST_THREADS = 512;

function programOf(four: boolean): GpuProgram {
  const type = four ? "vec4<f32>" : "f32";
  const outer = Array.from({ length: OUTER }, (_, axis) => axis);
  const split = outer
    .slice(1)
    .reverse()
    .map((axis) => `let c${axis} = rest % u.size${axis}; rest = rest / u.size${axis};`);
  const place = (side: string): string =>
    outer.map((axis) => `${axis === 0 ? "rest" : `c${axis}`} * u.${side}${axis}`).join(" + ");
  const fields = [
    ...["threads", "pieces", "piece", "run", "step", "from_at", "to_at"],
    ...outer.slice(1).map((axis) => `size${axis}`),
    ...outer.map((axis) => `from${axis}`),
    ...outer.map((axis) => `to${axis}`),
  ];
  return {
    name: `lab-strided-copy-${four ? 4 : 1}`,
    inputs: { x: type },
    outputs: { result: type },
    uniforms: Object.fromEntries(fields.map((field) => [field, "u32" as const])),
    workgroup: [THREADS, 1],
    body: `
      let i = (group.y * groups.x + group.x) * ${THREADS}u + local.x;
      if (i >= u.threads) { return; }
      let begin = (i % u.pieces) * u.piece;
      let end = min(begin + u.piece, u.run);
      var rest = i / u.pieces;
      ${split.join(" ")}
      var a = u.from_at + ${place("from")} + begin * u.step;
      let o = u.to_at + ${place("to")};
      for (var n = begin; n < end; n++) {
        result[o + n] = x[a];
        a += u.step;
      }`,
  };
}

const SINGLES = programOf(false);
const FOURS = programOf(true);

/**
 * An equal copy with as few axes as possible: axes of one element removed, adjacent ones merged if contiguous in both
 * tensors.
 */
export function joinedAxes(axes: readonly CopyAxis[]): CopyAxis[] {
  const joined: CopyAxis[] = [];
  for (const axis of [...axes].reverse()) {
    if (axis.size === 1) continue;
    const inner = joined[0];
    if (inner !== undefined && axis.from === inner.from * inner.size && axis.to === inner.to * inner.size) {
      joined[0] = { ...inner, size: inner.size * axis.size };
    } else joined.unshift(axis);
  }
  return joined.length === 0 ? [{ size: 1, from: 1, to: 1 }] : joined;
}

/**
 * Records a copy; undefined when it has more axes than the program supports.
 * @param x float32
 * @param output a new tensor, all of which the copy must write, or an existing one
 */
export function stridedCopy(
  x: tf.TensorInfo,
  output: OutputSpec | OutputInto,
  { axes, fromAt, toAt }: StridedCopy,
): tf.TensorInfo | undefined {
  const joined = joinedAxes(axes);
  // Elements that are not adjacent in the result form runs of one.
  if (joined.at(-1)?.to !== 1) joined.push({ size: 1, from: 1, to: 1 });
  const last = joined.at(-1) as CopyAxis;
  if (joined.length > OUTER + 1) return undefined;
  const outer = joined.slice(0, -1);
  const inFours =
    last.from === 1 &&
    [last.size, fromAt, toAt, ...outer.flatMap(({ from, to }) => [from, to])].every((value) => value % 4 === 0);
  const unit = inFours ? 4 : 1;
  const run = last.size / unit;
  const runs = outer.reduce((product, axis) => product * axis.size, 1);
  const piece = Math.max(1, Math.min(PIECE, run, Math.ceil((run * runs) / FEWEST_THREADS)));
  const pieces = Math.ceil(run / piece);
  const padded = [...Array.from({ length: OUTER - outer.length }, () => ({ size: 1, from: 0, to: 0 })), ...outer];
  const threads = runs * pieces;
  const uniforms = [
    ...[threads, pieces, piece, run, last.from, fromAt / unit, toAt / unit],
    ...padded.slice(1).map((axis) => axis.size),
    ...padded.map((axis) => axis.from / unit),
    ...padded.map((axis) => axis.to / unit),
  ];
  return runProgram(inFours ? FOURS : SINGLES, [x], [output], uniforms, flatGrid(Math.ceil(threads / THREADS)))[0];
}

/** Strides of a tensor of this shape. */
export function stridesOf(shape: readonly number[]): number[] {
  let stride = tf.util.sizeFromShape([...shape]);
  return shape.map((side) => {
    stride = side === 0 ? 0 : stride / side;
    return stride;
  });
}

// Cuts attention heads out of projected rows in one pass.

/**
 * Heads of one part (query, key or value) of projected rows. Not differentiable: for frozen towers.
 * @param x [N, …, parts · heads · d]; the axes between are flattened to T places
 * @param part index of the part, from 0
 * @returns [N, heads, T, d]
 */
export function headsOfPart(x: Tensor, heads: number, part = 0, parts = 1): Tensor {
  const [count] = x.shape as [number];
  const width = x.shape[x.rank - 1] as number;
  const places = x.size / (count * width);
  const depth = width / (parts * heads);
  const shape = [count, heads, places, depth];
  if (customKernels() && builtInForms().moves && suits(x)) {
    const axes = [
      { size: count, from: places * width, to: heads * places * depth },
      { size: heads, from: depth, to: places * depth },
      { size: places, from: width, to: depth },
      { size: depth, from: 1, to: 1 },
    ];
    const copied = stridedCopy(x, { shape }, { axes, fromAt: part * heads * depth, toAt: 0 });
    if (copied !== undefined) return toTensor(copied);
  }
  return tf.tidy(() => {
    const rows = x.reshape([count, places, width]);
    const own = parts === 1 ? rows : tf.slice(rows, [0, 0, part * heads * depth], [count, places, heads * depth]);
    return own.reshape([count, places, heads, depth]).transpose([0, 2, 1, 3]);
  });
}
