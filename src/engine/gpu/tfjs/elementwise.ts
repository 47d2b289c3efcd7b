/**
 * Arithmetic and comparisons of two float32 tensors with six programs. The backend compiles one for every operation,
 * rank and kind of broadcast, about seventy in the first training step. Shapes, strides and the operation are uniforms.
 * Every element is computed by the same instruction, so results do not change.
 *
 * Large results on software adapters: operands with the result's layout, or with a single number, are read four
 * elements at a time, several groups per thread, as fast as the stock program's vectors. Other broadcasts use the stock
 * programs, which are twice as fast as ours, except for the one that waits at a barrier. On a GPU large results use the
 * stock programs.
 */

import { builtInForms } from "../forms/active.ts";
import { customKernels } from "../runtime/custom-op.ts";
import type { GpuProgram } from "../runtime/pipelines.ts";
import { flatGrid, runProgram } from "../runtime/program.ts";
import { tf } from "../tf.ts";
import { overrideKernel } from "./override.ts";
import { runLength } from "./vector-points.ts";

/** Kernels of the backend, in the order of their numbers in the programs. */
const ARITHMETIC = ["Add", "Sub", "Multiply", "RealDiv", "Maximum", "Minimum"] as const;
const COMPARISONS = ["Greater", "GreaterEqual", "Less", "LessEqual", "Equal", "NotEqual"] as const;
type Kind = "arithmetic" | "comparison";

/** One axis of a result, with its stride in both operands; 0 where an operand is repeated. */
interface BroadcastAxis {
  readonly size: number;
  readonly a: number;
  readonly b: number;
}

const THREADS = 64;
/** Up to this number of elements, the dispatch takes longer than the reads in any order. */
const SMALL = 8192;
/** Maximum elements per thread, one after another. */
const RUN = 4;

/**
 * All results are computed and one is selected, which costs vector hardware less than a branch. NaN takes precedence
 * over every number.
 */
const VALUES: Readonly<Record<Kind, string>> = {
  arithmetic: `
        let low = select(select(x + y, x - y, u.operation == 1u), select(x * y, x / y, u.operation == 3u), u.operation > 1u);
        let ends = select(max(x, y), min(x, y), u.operation == 5u);
        let high = select(ends, x + y, broken(x) | broken(y));
        let value = select(low, high, u.operation > 3u);`,
  comparison: `
        let low = select(select(x > y, x >= y, u.operation == 1u), select(x < y, x <= y, u.operation == 3u), u.operation > 1u);
        let equal = select(x == y, x != y, u.operation == 5u);
        let value = select(I(0), I(1), select(low, equal, u.operation > 3u));`,
};

/** Element type of a computation: one element or four. */
const header = (four: boolean): string => `
  alias U = ${four ? "vec4u" : "u32"};
  alias I = ${four ? "vec4i" : "i32"};
  fn broken(value: ${four ? "vec4f" : "f32"}) -> ${four ? "vec4<bool>" : "bool"} {
    return (bitcast<U>(value) & U(0x7fffffffu)) > U(0x7f800000u);
  }`;

function sourceOf(kind: Kind, rank: 1 | 2 | 4, fields: readonly string[], body: string): GpuProgram {
  return {
    name: `lab-elementwise-${kind}-${rank}`,
    inputs: { a: "f32", b: "f32" },
    outputs: { result: kind === "comparison" ? "i32" : "f32" },
    uniforms: Object.fromEntries(["size", "operation", "run", ...fields].map((field) => [field, "u32" as const])),
    workgroup: [THREADS, 1],
    header: header(rank === 1),
    body: `
      let begin = (group.y * groups.x + group.x) * ${THREADS}u * u.run + local.x;
      for (var n = 0u; n < u.run; n++) {
        let i = begin + n * ${THREADS}u;${body}
      }`,
  };
}

/**
 * The program for operands that are a single number, have the layout of the result, or repeat one row of it: four
 * adjacent elements at a time. The last group may repeat the last element, which is then written several times with the
 * same value.
 */
function alongOf(kind: Kind): GpuProgram {
  const cells = [0, 1, 2, 3];
  return sourceOf(
    kind,
    1,
    ["a0", "b0", "row_a", "row_b"],
    `
        let at = 4u * i;
        if (at >= u.size) { return; }
        ${cells.map((c) => `let i${c} = min(at + ${c}u, u.size - 1u);`).join(" ")}
        var before_a = 0u; var before_b = 0u;
        if (u.row_a < u.size) { before_a = at - at % u.row_a; }
        if (u.row_b < u.size) { before_b = at - at % u.row_b; }
        let x = vec4f(${cells.map((c) => `a[(i${c} - before_a) * u.a0]`).join(", ")});
        let y = vec4f(${cells.map((c) => `b[(i${c} - before_b) * u.b0]`).join(", ")});${VALUES[kind]}
        ${cells.map((c) => `result[i${c}] = value[${c}];`).join(" ")}`,
  );
}

/** The program for results of up to `rank` axes. */
function programOf(kind: Kind, rank: 2 | 4): GpuProgram {
  const axes = Array.from({ length: rank }, (_, axis) => axis);
  // From the innermost axis outwards; the outermost takes the rest.
  const split = axes
    .slice(1)
    .reverse()
    .map((axis) => `let i${axis} = rest % u.size${axis}; rest = rest / u.size${axis};`);
  const place = (operand: string): string =>
    axes.map((axis) => `${axis === 0 ? "rest" : `i${axis}`} * u.${operand}${axis}`).join(" + ");
  const fields = [
    ...axes.slice(1).map((axis) => `size${axis}`),
    ...axes.map((axis) => `a${axis}`),
    ...axes.map((axis) => `b${axis}`),
  ];
  return sourceOf(
    kind,
    rank,
    fields,
    `
        if (i >= u.size) { return; }
        var rest = i;
        ${split.join(" ")}
        let x = a[${place("a")}];
        let y = b[${place("b")}];${VALUES[kind]}
        result[i] = value;`,
  );
}

const programs = (kind: Kind): Readonly<Record<1 | 2 | 4, GpuProgram>> => ({
  1: alongOf(kind),
  2: programOf(kind, 2),
  4: programOf(kind, 4),
});
const PROGRAMS = { arithmetic: programs("arithmetic"), comparison: programs("comparison") };

/** The axes of a result of two operands, merged where both are contiguous; undefined when they do not broadcast. */
export function broadcastAxes(a: readonly number[], b: readonly number[]): BroadcastAxis[] | undefined {
  const rank = Math.max(a.length, b.length);
  const axes: BroadcastAxis[] = [];
  let [strideA, strideB] = [1, 1];
  for (let back = 1; back <= rank; back++) {
    const [sizeA, sizeB] = [a[a.length - back] ?? 1, b[b.length - back] ?? 1];
    if (sizeA !== sizeB && sizeA !== 1 && sizeB !== 1) return undefined;
    const size = Math.max(sizeA, sizeB);
    const axis = { size, a: sizeA === 1 ? 0 : strideA, b: sizeB === 1 ? 0 : strideB };
    [strideA, strideB] = [strideA * sizeA, strideB * sizeB];
    if (size === 1) continue;
    const inner = axes[0];
    const joins = inner !== undefined && axis.a === inner.a * inner.size && axis.b === inner.b * inner.size;
    if (joins) axes[0] = { size: size * inner.size, a: inner.a, b: inner.b };
    else axes.unshift(axis);
  }
  return axes;
}

/**
 * Whether every operand has the rows of the result or one row for all of them, and vectors of four do not cross rows.
 */
function repeatsRows(axes: readonly BroadcastAxis[]): boolean {
  const [outer, inner] = axes;
  if (axes.length !== 2 || outer === undefined || inner === undefined || inner.size % 4 !== 0) return false;
  return inner.a === 1 && inner.b === 1 && [outer.a, outer.b].every((step) => step === 0 || step === inner.size);
}

/** Maximum elements of a vector that the stock program keeps in workgroup memory. */
const SHARED = 127;

/**
 * Whether the stock program waits at a barrier for a short vector, which takes ten times as long on a software adapter.
 */
function stockShares(a: readonly number[], b: readonly number[]): boolean {
  const short = (one: readonly number[], other: readonly number[]): boolean =>
    one.length <= 1 && other.length > 1 && (one[0] ?? 1) <= SHARED;
  return short(a, b) || short(b, a);
}

function run(kind: Kind, operation: number, a: tf.TensorInfo, b: tf.TensorInfo): tf.TensorInfo | undefined {
  if (a.dtype !== "float32" || b.dtype !== "float32") return undefined;
  if (tf.util.sizeFromShape(a.shape) * tf.util.sizeFromShape(b.shape) === 0) return undefined;
  const axes = broadcastAxes(a.shape, b.shape);
  if (axes === undefined || axes.length > 4) return undefined;
  const size = axes.reduce((product, axis) => product * axis.size, 1);
  const large = builtInForms().moves && (axes.length <= 1 || stockShares(a.shape, b.shape));
  if (size > SMALL && !large) return undefined;
  const length = Math.max(a.shape.length, b.shape.length);
  const shape = Array.from({ length }, (_, axis) => {
    const back = length - axis;
    return Math.max(a.shape[a.shape.length - back] ?? 1, b.shape[b.shape.length - back] ?? 1);
  });
  return record(kind, operation, a, b, axes, shape);
}

/** @param axes at most four */
function record(
  kind: Kind,
  operation: number,
  a: tf.TensorInfo,
  b: tf.TensorInfo,
  axes: readonly BroadcastAxis[],
  shape: readonly number[],
): tf.TensorInfo | undefined {
  const rows = repeatsRows(axes);
  const rank = rows || axes.length <= 1 ? 1 : axes.length === 2 ? 2 : 4;
  const size = axes.reduce((product, axis) => product * axis.size, 1);
  const padded = [...Array.from({ length: Math.max(0, rank - axes.length) }, () => ({ size: 1, a: 0, b: 0 })), ...axes];
  const groups = rank === 1 ? Math.ceil(size / 4) : size;
  const each = rank === 1 ? runLength(groups) : size > THREADS * 256 ? RUN : 1;
  const [outer, inner] = [axes[0], axes.at(-1)] as const;
  const row = (step: number | undefined): number => (rows && step === 0 ? (inner?.size ?? size) : size);
  const strides =
    rank === 1
      ? [inner?.a ?? 0, inner?.b ?? 0, row(outer?.a), row(outer?.b)]
      : [...padded.slice(1).map((axis) => axis.size), ...padded.map((axis) => axis.a), ...padded.map((axis) => axis.b)];
  const uniforms = [size, operation, each, ...strides];
  const output = { shape, dtype: kind === "comparison" ? ("bool" as const) : ("float32" as const) };
  const grid = flatGrid(Math.ceil(groups / (THREADS * each)));
  return runProgram(PROGRAMS[kind][rank], [a, b], [output], uniforms, grid)[0];
}

/**
 * A tensor broadcast to a larger shape, computed as max(x, x), which needs neither another program nor an uploaded
 * tensor of ones. Undefined if our programs do not apply.
 */
export function repeated(x: tf.TensorInfo, shape: readonly number[]): tf.TensorInfo | undefined {
  if (x.dtype !== "float32" || tf.util.sizeFromShape([...shape]) === 0) return undefined;
  const axes = broadcastAxes(x.shape, shape)?.map(({ size, a }) => ({ size, a, b: a }));
  if (axes === undefined || axes.length > 4) return undefined;
  return record("arithmetic", ARITHMETIC.indexOf("Maximum"), x, x, axes, shape);
}

/** Wraps the backend's operations. */
export function installElementwise(): void {
  for (const [operation, name] of ARITHMETIC.entries()) wrap(name, "arithmetic", operation);
  for (const [operation, name] of COMPARISONS.entries()) wrap(name, "comparison", operation);
  // x² as x · x, which is the same number.
  overrideKernel("Square", ({ inputs }) => {
    const { x } = inputs as { x: tf.TensorInfo };
    return customKernels() ? run("arithmetic", ARITHMETIC.indexOf("Multiply"), x, x) : undefined;
  });
}

function wrap(name: string, kind: Kind, operation: number): void {
  overrideKernel(name, ({ inputs }) => {
    const { a, b } = inputs as { a: tf.TensorInfo; b: tf.TensorInfo };
    return customKernels() ? run(kind, operation, a, b) : undefined;
  });
}

// * Passes the operands of element-wise operations as vectors. The backend compiles a program for every rank, though only
// the number of elements matters.

/** Kernels of the backend. Those with several operands are flattened only if the operands have one shape. */
const FLATTENED = [
  ...["Abs", "Ceil", "ClipByValue", "Cos", "Elu", "Erf", "Exp", "Expm1", "Floor", "IsFinite", "IsInf", "IsNan"],
  ...[
    "LeakyRelu",
    "Log",
    "Log1p",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "Neg",
    "Pow",
    "Reciprocal",
    "Relu",
    "Relu6",
  ],
  ...["Round", "Rsqrt", "Select", "Sigmoid", "Sign", "Sin", "Softplus", "Sqrt", "Square", "SquaredDifference", "Step"],
  ...["Tanh", "OnesLike", "ZerosLike"],
];

/** Wraps the backend's operations. */
export function installFlattened(): void {
  for (const name of FLATTENED) {
    overrideKernel(name, (params, stock) => {
      const inputs = Object.entries(params.inputs as Readonly<Record<string, tf.TensorInfo>>);
      const [first] = inputs.map(([, input]) => input);
      const alike = first !== undefined && inputs.every(([, { shape }]) => tf.util.arraysEqual(shape, first.shape));
      if (!customKernels() || !alike || first.shape.length === 1) return undefined;
      const size = tf.util.sizeFromShape(first.shape);
      const flat = inputs.map(
        ([at, { dataId, dtype }]) => [at, { dataId, dtype, shape: [size] }] as [string, tf.TensorInfo],
      );
      const made = stock({ ...params, inputs: Object.fromEntries(flat) }) as tf.TensorInfo;
      return { ...made, shape: [...first.shape] };
    });
  }
  overrideKernel("Fill", (params, stock) => {
    const { shape } = params.attrs as unknown as { shape: number[] };
    if (!customKernels()) return undefined;
    const attrs = { ...params.attrs, shape: [tf.util.sizeFromShape(shape)] };
    return { ...(stock({ ...params, attrs }) as tf.TensorInfo), shape: [...shape] };
  });
}
