/**
 * Slices, splits, transposes, repeats and pads float32 tensors with one program. The backend compiles one for every
 * rank and permutation, about twenty-five in the first training step. Each only moves numbers: an element of the result
 * is an element of the operand at some stride along every axis, or padding.
 *
 * On software adapters results without padding are copied in runs instead (gpu/tfjs/strided-copy.ts). On a GPU large
 * results use the stock programs, which read adjacent elements together.
 */
import { builtInForms } from "../forms/active.ts";
import { pointProgram, runPoints } from "../rows-program.ts";
import { customKernels } from "../runtime/custom-op.ts";
import { shareData } from "../runtime/program.ts";
import { tf } from "../tf.ts";
import { overrideKernel } from "./override.ts";
import { stridedCopy, stridesOf } from "./strided-copy.ts";

interface MoveAxis {
  readonly size: number;
  /** Stride in the operand; 0 where it is repeated. */
  readonly stride: number;
  /** `count` positions of the result from `low` on come from the operand; the others are padding. */
  readonly low: number;
  readonly count: number;
}

const RANK = 4;
const AXES = Array.from({ length: RANK }, (_, axis) => axis);
/** Up to this number of elements, the dispatch takes longer than the reads in any order. */
const SMALL = 8192;

const fields = (name: string, from = 0): [string, "u32"][] => AXES.slice(from).map((axis) => [`${name}${axis}`, "u32"]);

const PROGRAM = pointProgram({
  name: "lab-rearrange",
  inputs: { x: "f32" },
  outputs: { result: "f32" },
  uniforms: {
    size: "u32",
    offset: "u32",
    padding: "f32",
    ...Object.fromEntries([...fields("size", 1), ...fields("stride"), ...fields("low"), ...fields("count")]),
  },
  body: `
    var rest = i;
    ${AXES.slice(1)
      .reverse()
      .map((axis) => `let i${axis} = rest % u.size${axis} - u.low${axis}; rest = rest / u.size${axis};`)
      .join("\n")}
    let i0 = rest - u.low0;
    let inside = ${AXES.map((axis) => `i${axis} < u.count${axis}`).join(" && ")};
    let at = u.offset + ${AXES.map((axis) => `i${axis} * u.stride${axis}`).join(" + ")};
    result[i] = select(u.padding, x[select(0u, at, inside)], inside);`,
});

const whole = (size: number, stride: number): MoveAxis => ({ size, stride, low: 0, count: size });
const isWhole = ({ size, low, count }: MoveAxis): boolean => low === 0 && count === size;

/** An equal move with as few axes as possible: axes of size 1 removed, contiguous ones merged. */
export function joinAxes(axes: readonly MoveAxis[]): MoveAxis[] {
  const joined: MoveAxis[] = [];
  for (const axis of [...axes].reverse()) {
    const inner = joined[0];
    if (axis.size === 1 && isWhole(axis)) continue;
    const together =
      inner !== undefined && isWhole(axis) && isWhole(inner) && axis.stride === inner.stride * inner.size;
    if (together) joined[0] = whole(axis.size * inner.size, inner.stride);
    else joined.unshift(axis);
  }
  return joined;
}

/** Whether our program applies to a result of that many elements, by type and size. */
function suits(x: tf.TensorInfo, size: number): boolean {
  if (!customKernels() || x.dtype !== "float32" || size === 0 || tf.util.sizeFromShape(x.shape) === 0) return false;
  return size <= SMALL || builtInForms().moves;
}

function move(
  x: tf.TensorInfo,
  axes: readonly MoveAxis[],
  shape: readonly number[],
  offset = 0,
  padding = 0,
): tf.TensorInfo | undefined {
  const size = tf.util.sizeFromShape([...shape]);
  if (!suits(x, size)) return undefined;
  if (builtInForms().moves && axes.every(isWhole)) {
    const to = stridesOf(axes.map((axis) => axis.size));
    const copied = axes.map((axis, at) => ({ size: axis.size, from: axis.stride, to: to[at] as number }));
    const made = stridedCopy(x, { shape }, { axes: copied, fromAt: offset, toAt: 0 });
    if (made !== undefined) return made;
  }
  const joined = joinAxes(axes);
  if (joined.length > RANK) return undefined;
  const all = [...Array.from({ length: RANK - joined.length }, () => whole(1, 0)), ...joined];
  const uniforms = [
    offset,
    padding,
    ...all.slice(1).map((axis) => axis.size),
    ...all.map(({ stride }) => stride),
    ...all.map(({ low }) => low),
    ...all.map(({ count }) => count),
  ];
  return runPoints(PROGRAM, [x], [{ shape }], size, uniforms)[0];
}

function slice(x: tf.TensorInfo, begin: readonly number[], size: readonly number[]): tf.TensorInfo | undefined {
  const strides = stridesOf(x.shape);
  const offset = begin.reduce((sum, from, axis) => sum + from * (strides[axis] as number), 0);
  const axes = size.map((count, axis) => whole(count, strides[axis] as number));
  return move(x, axes, size, offset);
}

type Attrs = Readonly<Record<string, unknown>>;
type Own = (x: tf.TensorInfo, attrs: Attrs) => tf.TensorInfo | tf.TensorInfo[] | undefined;

/** Parts of a tensor along an axis. */
function parts(x: tf.TensorInfo, axis: number, sizes: readonly number[]): tf.TensorInfo[] | undefined {
  const largest = (tf.util.sizeFromShape(x.shape) / (x.shape[axis] as number)) * Math.max(...sizes);
  if (sizes.some((size) => size === 0) || !suits(x, largest)) return undefined;
  let from = 0;
  return sizes.map((size) => {
    const begin = x.shape.map((_, at) => (at === axis ? from : 0));
    from += size;
    const shape = x.shape.map((side, at) => (at === axis ? size : side));
    return slice(x, begin, shape) as tf.TensorInfo;
  });
}

const KERNELS: Readonly<Record<string, Own>> = {
  Slice(x, attrs) {
    const { begin, size } = attrs as { begin: number | number[]; size: number | number[] };
    const [from, count] = tf.slice_util.parseSliceParams(x as tf.Tensor, begin, size) as [number[], number[]];
    tf.slice_util.assertParamsValid(x as tf.Tensor, from, count);
    return slice(x, from, count);
  },
  Transpose(x, attrs) {
    const { perm } = attrs as { perm: number[] };
    const same = transposedView(x, perm);
    if (same !== undefined) return same;
    const strides = stridesOf(x.shape);
    const axes = perm.map((axis) => whole(x.shape[axis] as number, strides[axis] as number));
    const sizes = axes.map(({ size }) => size);
    return move(x, axes, sizes);
  },
  Tile(x, attrs) {
    const { reps } = attrs as { reps: number[] };
    const strides = stridesOf(x.shape);
    const axes = x.shape.flatMap((size, axis) => [
      whole(reps[axis] as number, 0),
      whole(size, strides[axis] as number),
    ]);
    const sizes = x.shape.map((size, axis) => size * (reps[axis] as number));
    return move(x, axes, sizes);
  },
  SplitV(x, attrs) {
    const { numOrSizeSplits, axis } = attrs as { numOrSizeSplits: number | number[]; axis: number };
    const at = tf.util.parseAxisParam(axis, x.shape)[0] as number;
    // Slices keep all axes of the operand, so our program supports them if it supports the operand.
    if (x.shape.length > RANK) return undefined;
    return parts(x, at, tf.backend_util.prepareSplitSize(x as tf.Tensor, numOrSizeSplits, at));
  },
  Unpack(x, attrs) {
    const { axis } = attrs as { axis: number };
    if (x.shape.length > RANK) return undefined;
    const at = axis < 0 ? axis + x.shape.length : axis;
    const made = parts(x, at, new Array<number>(x.shape[at] as number).fill(1));
    return made?.map((part) => ({ ...part, shape: x.shape.filter((_, i) => i !== at) }));
  },
  PadV2(x, attrs) {
    const { paddings, constantValue } = attrs as { paddings: [number, number][]; constantValue: number };
    // Without padding, the stock kernel makes a view.
    if (paddings.every(([low, high]) => low === 0 && high === 0)) return undefined;
    const strides = stridesOf(x.shape);
    const axes = x.shape.map((count, axis) => {
      const [low, high] = paddings[axis] as [number, number];
      return { size: low + count + high, stride: strides[axis] as number, low, count };
    });
    const sizes = axes.map(({ size }) => size);
    return move(x, axes, sizes, 0, constantValue);
  },
};

/** Wraps the backend's operations. */
export function installRearrange(): void {
  for (const [name, own] of Object.entries(KERNELS)) {
    overrideKernel(name, ({ inputs, attrs }) => own((inputs.x ?? inputs.value) as tf.TensorInfo, attrs as Attrs));
  }
}

// Transposes that move no data. A permutation that only moves axes of size 1, as in every single-token decoding step,
// keeps the elements in order, so it can be a view like a reshape.

/** True when `perm` keeps the order of the axes longer than 1. */
export function keepsOrder(shape: readonly number[], perm: readonly number[]): boolean {
  const long = perm.filter((axis) => shape[axis] !== 1);
  return long.every((axis, i) => i === 0 || axis > (long[i - 1] as number));
}

/** The transposed tensor as a view of the same data; undefined if elements have to move or custom kernels are off. */
function transposedView(x: tf.TensorInfo, perm: readonly number[]): tf.TensorInfo | undefined {
  if (!customKernels() || !keepsOrder(x.shape, perm)) return undefined;
  const shape = perm.map((axis) => x.shape[axis] as number);
  return shareData(x, shape);
}
