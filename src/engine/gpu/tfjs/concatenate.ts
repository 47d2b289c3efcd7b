/**
 * Concatenates float32 tensors with two programs, for few and for many operands. The backend compiles one for every
 * number of operands. Unused operands are empty; if there are more operands than the program takes, groups of them are
 * written into the result one after another.
 */
import { builtInForms } from "../forms/active.ts";
import { pointProgram, runPoints } from "../rows-program.ts";
import { customKernels } from "../runtime/custom-op.ts";
import { type GpuProgram, u32s } from "../runtime/pipelines.ts";
import { unwritten } from "../runtime/program.ts";
import { tf } from "../tf.ts";
import { overrideKernel } from "./override.ts";
import { stridedCopy } from "./strided-copy.ts";

/**
 * Maximum operands of the two programs. With the result, the second program uses as many buffers as every device
 * supports.
 */
const FEW = 3;
const MANY = 7;
/** Up to this number of elements, the dispatch takes longer than the reads in any order. */
const SMALL = 8192;

/** Number of elements from which copying operand by operand is faster on software adapters, despite more dispatches. */
const COPIED = 4096;

/** Rows of the operands, `width<n>` elements each, side by side in rows of `total` elements from `from` on. */
function programOf(count: number): GpuProgram {
  const operands = Array.from({ length: count }, (_, n) => n);
  const take = (n: number): string => `if (at < u.width${n}) { value = x${n}[row * u.width${n} + at]; }`;
  const next = (n: number): string =>
    `else { at -= u.width${n}; ${n + 1 < count ? `${take(n + 1)} ${next(n + 1)}` : ""} }`;
  return pointProgram({
    name: `lab-concatenate-${count}`,
    inputs: Object.fromEntries(operands.map((n) => [`x${n}`, "f32" as const])),
    outputs: { result: "f32" },
    uniforms: {
      ...u32s("size width total first"),
      ...Object.fromEntries(operands.map((n) => [`width${n}`, "u32" as const])),
    },
    body: `
      let row = i / u.width;
      let column = i % u.width;
      var at = column;
      var value = 0.0;
      ${take(0)} ${next(0)}
      result[row * u.total + u.first + column] = value;`,
  });
}

const PROGRAMS: Readonly<Record<number, GpuProgram>> = { [FEW]: programOf(FEW), [MANY]: programOf(MANY) };

function run(given: readonly tf.TensorInfo[], axis: number): tf.TensorInfo | undefined {
  if (!customKernels() || given.some(({ dtype }) => dtype !== "float32")) return undefined;
  const at = tf.util.parseAxisParam(axis, (given[0] as tf.TensorInfo).shape)[0] as number;
  const shapes = given.map(({ shape }) => shape);
  tf.backend_util.assertParamsConsistent(shapes, at);
  const shape = tf.backend_util.computeOutShape(
    given.map((operand) => operand.shape),
    at,
  );
  const operands = given.filter((operand) => tf.util.sizeFromShape(operand.shape) > 0);
  if (operands.length < 2 || (tf.util.sizeFromShape(shape) > SMALL && !builtInForms().moves)) return undefined;
  const rows = tf.util.sizeFromShape(shape.slice(0, at));
  const total = tf.util.sizeFromShape(shape.slice(at));
  if (builtInForms().moves && rows * total > COPIED) return copyBeside(operands, shape, rows, total);
  const count = operands.length <= FEW ? FEW : MANY;
  let made: tf.TensorInfo | undefined;
  let from = 0;
  for (let first = 0; first < operands.length; first += count) {
    const group = operands.slice(first, first + count);
    const widths = group.map((operand) => tf.util.sizeFromShape(operand.shape) / rows);
    const width = widths.reduce((sum, one) => sum + one, 0);
    const idle = Array.from({ length: count - group.length }, () => group[0] as tf.TensorInfo);
    const uniforms = [width, total, from, ...widths, ...idle.map(() => 0)];
    const output = made === undefined ? { shape } : { into: made };
    [made] = runPoints(PROGRAMS[count] as GpuProgram, [...group, ...idle], [output], rows * width, uniforms);
    from += width;
  }
  return made;
}

/** Copies the operands into the result one after another, in runs. */
function copyBeside(
  operands: readonly tf.TensorInfo[],
  shape: readonly number[],
  rows: number,
  total: number,
): tf.TensorInfo {
  const into = unwritten(shape);
  let toAt = 0;
  for (const operand of operands) {
    const width = tf.util.sizeFromShape(operand.shape) / rows;
    const axes = [
      { size: rows, from: width, to: total },
      { size: width, from: 1, to: 1 },
    ];
    stridedCopy(operand, { into }, { axes, fromAt: 0, toAt });
    toAt += width;
  }
  return into;
}

/** Wraps the backend's Concat and Pack. */
export function installConcatenate(): void {
  for (const name of ["Concat", "Pack"]) {
    overrideKernel(name, ({ inputs, attrs }) => {
      const operands = inputs as unknown as readonly tf.TensorInfo[];
      const { axis } = attrs as unknown as { axis: number };
      return name === "Pack" ? stack(operands, axis) : run(operands, axis);
    });
  }
}

/** Stacking is concatenation along a new axis of size 1. */
function stack(operands: readonly tf.TensorInfo[], axis: number): tf.TensorInfo | undefined {
  const [first] = operands;
  if (first === undefined || operands.some(({ shape }) => !tf.util.arraysEqual(shape, first.shape))) return undefined;
  const at = axis < 0 ? axis + first.shape.length + 1 : axis;
  return run(
    operands.map((operand) => ({ ...operand, shape: [...operand.shape.slice(0, at), 1, ...operand.shape.slice(at)] })),
    at,
  );
}
