/** Activations as one dispatch each way. */
import { ownKernels } from "../own-kernels.ts";
import { defineOp, pointwise, suits, toTensor } from "../own-op.ts";
import { type Tensor, tf } from "../tf.ts";

/** x · Φ(x) in the exact erf form. */
export function gelu(x: Tensor): Tensor {
  if (ownKernels() && suits(x)) return ownGelu({ x })[0] as Tensor;
  return tf.tidy(() => x.mul(x.mul(Math.SQRT1_2).erf().add(1)).mul(0.5));
}

/** x · sigmoid(x). */
export function silu(x: Tensor): Tensor {
  return tf.tidy(() => x.mul(x.sigmoid()));
}

/** silu(gate) · up. */
export function swiglu(gate: Tensor, up: Tensor): Tensor {
  const alike = tf.util.arraysEqual(gate.shape, up.shape);
  if (ownKernels() && alike && suits(gate, up)) return ownSwiglu({ gate, up })[0] as Tensor;
  return tf.tidy(() => silu(gate).mul(up));
}

/** The error function by Abramowitz and Stegun 7.1.26, |error| ≤ 1.5e-7, as the backend's own Erf has it. */
const ERF = `
  fn erf(value: f32) -> f32 {
    let x = abs(value);
    let t = 1.0 / (1.0 + 0.3275911 * x);
    let poly = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    return sign(value) * (1.0 - poly * exp(-min(x * x, 80.0)));
  }`;

const GELU = pointwise("lab-gelu", ["x"], "0.5 * x[i] * (1.0 + erf(x[i] * 0.7071067811865476))", ERF);
const GELU_GRAD = pointwise(
  "lab-gelu-grad",
  ["dy", "x"],
  `dy[i] * (0.5 * (1.0 + erf(x[i] * 0.7071067811865476))
    + x[i] * 0.3989422804014327 * exp(-min(0.5 * x[i] * x[i], 80.0)))`,
  ERF,
);

const ownGelu = defineOp({
  name: "LabGelu",
  saved: ["x"],
  forward: ({ x }) => [GELU([x as tf.TensorInfo])],
  gradient: ([dy], [x]) => ({ x: () => toTensor(GELU_GRAD([dy as Tensor, x as Tensor])) }),
});

/** Kept from overflow: exp(88.8) is no float32. */
const SIGMOID = "fn sigmoid(x: f32) -> f32 { return 1.0 / (1.0 + exp(min(-x, 87.0))); }";

const SWIGLU = pointwise("lab-swiglu", ["gate", "up"], "gate[i] * sigmoid(gate[i]) * up[i]", SIGMOID);
const SWIGLU_UP = pointwise("lab-swiglu-up", ["dy", "gate"], "dy[i] * gate[i] * sigmoid(gate[i])", SIGMOID);
const SWIGLU_GATE = pointwise(
  "lab-swiglu-gate",
  ["dy", "gate", "up"],
  "dy[i] * up[i] * sigmoid(gate[i]) * (1.0 + gate[i] * (1.0 - sigmoid(gate[i])))",
  SIGMOID,
);

const ownSwiglu = defineOp({
  name: "LabSwiglu",
  saved: ["gate", "up"],
  forward: ({ gate, up }) => [SWIGLU([gate as tf.TensorInfo, up as tf.TensorInfo])],
  gradient: ([dy], [gate, up]) => ({
    gate: () => toTensor(SWIGLU_GATE([dy as Tensor, gate as Tensor, up as Tensor])),
    up: () => toTensor(SWIGLU_UP([dy as Tensor, gate as Tensor])),
  }),
});
