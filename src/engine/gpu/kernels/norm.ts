/** Norms over the last axis, each one dispatch forward, with the row's mean and scale kept for the gradient. */
import { ownKernels } from "../own-kernels.ts";
import { defineOp, suits, toTensor } from "../own-op.ts";
import { type RowProgram, runRows } from "../rows-program.ts";
import { type Tensor, tf } from "../tf.ts";
import { columnSum } from "./column-sum.ts";

/** x · rsqrt(mean(x²) + eps) · weight over the last axis; weight [D]. */
export function rmsNorm(x: Tensor, weight: Tensor, eps: number): Tensor {
  if (ownKernels() && suits(x, weight)) return tf.tidy(() => ownRmsNorm({ x, weight }, { eps })[0] as Tensor);
  return tf.tidy(() => x.mul(x.square().mean(-1, true).add(eps).rsqrt()).mul(weight));
}

/** (x − mean) · rsqrt(var + eps) · weight + bias over the last axis, biased variance; weight, bias [D]. */
export function layerNorm(x: Tensor, weight: Tensor, bias: Tensor, eps: number): Tensor {
  if (ownKernels() && suits(x, weight, bias)) {
    return tf.tidy(() => ownLayerNorm({ x, weight, bias }, { eps })[0] as Tensor);
  }
  return tf.tidy(() => {
    const centred = x.sub(x.mean(-1, true));
    const scale = centred.square().mean(-1, true).add(eps).rsqrt();
    return centred.mul(scale).mul(weight).add(bias);
  });
}

/** With `layer`: mean taken off and bias added. */
function forwardProgram(layer: boolean): RowProgram {
  return {
    name: layer ? "lab-layer-norm" : "lab-rms-norm",
    inputs: { x: "f32", weight: "f32", bias: "f32" },
    outputs: { result: "f32", stats: "f32" },
    uniforms: { rows: "u32", width: "u32", eps: "f32" },
    body: `
      let base = row * u.width;
      var mean = 0.0;
      ${layer ? `for (var i = first; i < u.width; i += step) { mean += x[base + i]; } mean = sum(mean, lane) / f32(u.width);` : ""}
      var square = 0.0;
      for (var i = first; i < u.width; i += step) { let d = x[base + i] - mean; square += d * d; }
      let scale = inverseSqrt(sum(square, lane) / f32(u.width) + u.eps);
      for (var i = first; i < u.width; i += step) {
        result[base + i] = (x[base + i] - mean) * scale * weight[i]${layer ? " + bias[i]" : ""};
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
    body: `
      let base = row * u.width;
      let mean = stats[2u * row];
      let scale = stats[2u * row + 1u];
      var along = 0.0;
      var level = 0.0;
      for (var i = first; i < u.width; i += step) {
        let g = dy[base + i] * weight[i];
        along += g * (x[base + i] - mean) * scale;
        level += g;
      }
      along = sum(along, lane) / f32(u.width);
      ${layer ? "level = sum(level, lane) / f32(u.width);" : "level = 0.0;"}
      for (var i = first; i < u.width; i += step) {
        let normed = (x[base + i] - mean) * scale;
        result[base + i] = scale * (dy[base + i] * weight[i] - level - normed * along);
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

const ownRmsNorm = normOp(false);
const ownLayerNorm = normOp(true);

/** Rows and width of the last axis. */
export function rowsOf(x: { readonly shape: readonly number[] }): [number, number] {
  const width = x.shape[x.shape.length - 1] ?? 1;
  return [tf.util.sizeFromShape([...x.shape]) / width, width];
}
