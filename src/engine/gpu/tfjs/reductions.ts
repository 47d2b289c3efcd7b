/**
 * Sums and means over adjacent axes on software adapters, one thread per result. The backend's program gives every
 * result a workgroup with barriers, and each barrier makes a software adapter switch all threads. It also transposes
 * first when the axes are not the last ones.
 */

import { builtInForms } from "../forms/active.ts";
import { pointProgram, runPoints } from "../rows-program.ts";
import { customKernels, toTensor } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";
import { repeated } from "./elementwise.ts";
import { overrideKernel } from "./override.ts";

/** Longer sums with few results use the stock program, which splits them over threads. */
const LONGEST_ALONE = 4096;
const FEWEST_TOGETHER = 32;

const PROGRAM = pointProgram({
  name: "lab-sum-axes",
  inputs: { x: "f32" },
  outputs: { result: "f32" },
  uniforms: { size: "u32", length: "u32", inner: "u32", factor: "f32" },
  body: `
    let base = (i / u.inner) * u.length * u.inner + i % u.inner;
    var total = 0.0;
    for (var k = 0u; k < u.length; k++) { total += x[base + k * u.inner]; }
    result[i] = total * u.factor;`,
});

/** Layout of a tensor's elements along one block of adjacent axes; undefined when the axes are not adjacent. */
export function axisBlock(
  shape: readonly number[],
  axes: readonly number[],
): { readonly outer: number; readonly length: number; readonly inner: number } | undefined {
  const sorted = [...axes].sort((a, b) => a - b);
  const [first, last] = [sorted[0] ?? 0, sorted.at(-1) ?? -1];
  if (last - first + 1 !== sorted.length) return undefined;
  const product = (from: number, to: number): number => shape.slice(from, to).reduce((size, side) => size * side, 1);
  return { outer: product(0, first), length: product(first, last + 1), inner: product(last + 1, shape.length) };
}

function run(
  x: tf.TensorInfo,
  axis: number | number[] | null | undefined,
  keepDims: boolean,
  mean: boolean,
): tf.TensorInfo | undefined {
  if (!customKernels() || !builtInForms().reductions || x.dtype !== "float32") return undefined;
  const all = x.shape.map((_, at) => at);
  const axes = axis === null || axis === undefined ? all : tf.util.parseAxisParam(axis, x.shape);
  const block = axisBlock(x.shape, axes);
  if (block === undefined || block.outer * block.length * block.inner === 0) return undefined;
  const results = block.outer * block.inner;
  if (block.length > LONGEST_ALONE && results < FEWEST_TOGETHER) return undefined;
  const shape = keepDims
    ? x.shape.map((side, at) => (axes.includes(at) ? 1 : side))
    : x.shape.filter((_, at) => !axes.includes(at));
  const factor = mean ? 1 / block.length : 1;
  return runPoints(PROGRAM, [x], [{ shape }], results, [block.length, block.inner, factor])[0];
}

/** Wraps the backend's Sum and Mean, and their gradients. */
export function installReductions(): void {
  for (const name of ["Sum", "Mean"] as const) {
    overrideKernel(name, ({ inputs, attrs }) => {
      const { x } = inputs as { x: tf.TensorInfo };
      const { axis, keepDims } = attrs as unknown as { axis?: number | number[]; keepDims?: boolean };
      return run(x, axis, keepDims === true, name === "Mean");
    });
    spreadGradient(name);
  }
}

/** The gradient of a sum repeats its input; the stock one multiplies it by ones that the host fills and uploads. */
function spreadGradient(name: "Sum" | "Mean"): void {
  const stock = tf.getGradient(name);
  if (stock === undefined) return;
  tf.unregisterGradient(name);
  tf.registerGradient({
    ...stock,
    gradFunc(dy, saved, attrs) {
      const [x, given] = [saved[0], Array.isArray(dy) ? dy[0] : dy] as [Tensor, Tensor];
      const thunks = stock.gradFunc(dy, saved, attrs);
      if (!customKernels() || !builtInForms().reductions || x.dtype !== "float32") return thunks;
      const { axis } = attrs as unknown as { axis?: number | number[] | null };
      const axes = tf.util.parseAxisParam(axis ?? x.shape.map((_, at) => at), x.shape);
      const kept = x.shape.map((side, at) => (axes.includes(at) ? 1 : side));
      const length = axes.reduce((product, at) => product * (x.shape[at] as number), 1);
      return {
        x() {
          const part = name === "Mean" ? given.div(length) : given;
          const spread = repeated(part.reshape(kept), x.shape);
          return spread === undefined ? (thunks.x as () => Tensor)() : toTensor(spread);
        },
      };
    },
  });
}
