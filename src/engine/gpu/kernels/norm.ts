/** Norms over the last axis, one dispatch forward. The row's mean and scale are stored for the gradient. */

import { type RowProgram, runRows } from "../rows-program.ts";
import { customKernels } from "../runtime/custom-kernels.ts";
import { defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";
import { columnSum } from "./column-sum.ts";

/** x · rsqrt(mean(x²) + eps) · weight over the last axis; weight [D]. */
export function rmsNorm(x: Tensor, weight: Tensor, eps: number): Tensor {
  if (customKernels() && suits(x, weight)) return tf.tidy(() => customRmsNorm({ x, weight }, { eps })[0] as Tensor);
  return tf.tidy(() => x.mul(x.square().mean(-1, true).add(eps).rsqrt()).mul(weight));
}

/** (x − mean) · rsqrt(var + eps) · weight + bias over the last axis, biased variance; weight, bias [D]. */
export function layerNorm(x: Tensor, weight: Tensor, bias: Tensor, eps: number): Tensor {
  if (customKernels() && suits(x, weight, bias)) {
    return tf.tidy(() => customLayerNorm({ x, weight, bias }, { eps })[0] as Tensor);
  }
  return tf.tidy(() => {
    const centred = x.sub(x.mean(-1, true));
    const scale = centred.square().mean(-1, true).add(eps).rsqrt();
    return centred.mul(scale).mul(weight).add(bias);
  });
}

const CELLS = [0, 1, 2, 3];
/** Elements i … i+3 of a row; indices beyond its end repeat the last one. */
const four = (array: string, base = ""): string =>
  `vec4f(${CELLS.map((c) => `${array}[${base}min(i + ${c}u, u.width - 1u)]`).join(", ")})`;
/** Four such elements, with 0 for indices beyond the end. */
const HEADER = `
  fn within(i: u32, value: vec4f) -> vec4f {
    return select(vec4f(0), value, vec4u(i, i + 1u, i + 2u, i + 3u) < vec4u(u.width));
  }
  fn total(value: vec4f) -> f32 { return (value.x + value.y) + (value.z + value.w); }`;
const EACH = "for (var i = 4u * first; i < u.width; i += 4u * step)";
/** Writes four elements; indices beyond the end write the last one again. */
const put = (value: string): string =>
  CELLS.map((c) => `result[base + min(i + ${c}u, u.width - 1u)] = ${value}[${c}];`).join(" ");

/** @param layer subtracts the mean and adds the bias */
function forwardProgram(layer: boolean): RowProgram {
  return {
    name: layer ? "lab-layer-norm" : "lab-rms-norm",
    inputs: { x: "f32", weight: "f32", bias: "f32" },
    outputs: { result: "f32", stats: "f32" },
    uniforms: { rows: "u32", width: "u32", eps: "f32" },
    header: HEADER,
    body: `
      let base = row * u.width;
      var sums = vec4f(0);
      ${layer ? `${EACH} { sums += within(i, ${four("x", "base + ")}); }` : ""}
      let mean = ${layer ? "sum(total(sums), lane) / f32(u.width)" : "0.0"};
      var squares = vec4f(0);
      ${EACH} { let d = within(i, ${four("x", "base + ")} - mean); squares += d * d; }
      let scale = inverseSqrt(sum(total(squares), lane) / f32(u.width) + u.eps);
      ${EACH} {
        let y = (${four("x", "base + ")} - mean) * scale * ${four("weight")}${layer ? ` + ${four("bias")}` : ""};
        ${put("y")}
      }
      if (first == 0u) { stats[2u * row] = mean; stats[2u * row + 1u] = scale; }`,
  };
}

/** dx = scale · (g − mean(g)? − x̂ · mean(g x̂)) with g = dy · weight and x̂ the normed row. */
function backwardProgram(layer: boolean): RowProgram {
  return {
    name: layer ? "lab-layer-norm-grad" : "lab-rms-norm-grad",
    inputs: { dy: "f32", x: "f32", weight: "f32", stats: "f32" },
    outputs: { result: "f32" },
    uniforms: { rows: "u32", width: "u32" },
    header: HEADER,
    body: `
      let base = row * u.width;
      let mean = stats[2u * row];
      let scale = stats[2u * row + 1u];
      var alongs = vec4f(0);
      var levels = vec4f(0);
      ${EACH} {
        let g = within(i, ${four("dy", "base + ")} * ${four("weight")});
        alongs += g * (${four("x", "base + ")} - mean) * scale;
        levels += g;
      }
      let along = sum(total(alongs), lane) / f32(u.width);
      let level = ${layer ? "sum(total(levels), lane) / f32(u.width)" : "0.0"};
      ${EACH} {
        let normed = (${four("x", "base + ")} - mean) * scale;
        let dx = scale * (${four("dy", "base + ")} * ${four("weight")} - level - normed * along);
        ${put("dx")}
      }`,
  };
}

function normOp(layer: boolean): ReturnType<typeof defineOp> {
  const forward = forwardProgram(layer);
  const backward = backwardProgram(layer);
  return defineOp({
    name: layer ? "LabLayerNorm" : "LabRmsNorm",
    saved: ["x", "weight"],
    savedOutputs: [false, true],
    forward(inputs, { eps }) {
      const { x, weight, bias } = inputs as Record<"x" | "weight" | "bias", tf.TensorInfo>;
      const [rows, width] = rowsOf(x);
      const outputs = [{ shape: x.shape }, { shape: [rows, 2] }];
      return runRows(forward, [x, weight, layer ? bias : weight], outputs, rows, width, [eps as number]);
    },
    gradient([dy], [x, weight, stats]) {
      const given = { dy, x, weight, stats } as Record<"dy" | "x" | "weight" | "stats", Tensor>;
      const [rows, width] = rowsOf(given.x);
      const normed = { y: given.x, stats: given.stats };
      const back = [given.dy, given.x, given.weight, given.stats];
      return {
        x: () => toTensor(runRows(backward, back, [{ shape: given.x.shape }], rows, width)[0]),
        weight: () => toTensor(columnSum(given.dy, rows, width, normed)),
        bias: () => toTensor(columnSum(given.dy, rows, width)),
      };
    },
  });
}

const customRmsNorm = normOp(false);
const customLayerNorm = normOp(true);

/** Rows and width of the last axis. */
export function rowsOf(x: { readonly shape: readonly number[] }): [number, number] {
  const width = x.shape[x.shape.length - 1] ?? 1;
  return [tf.util.sizeFromShape([...x.shape]) / width, width];
}
