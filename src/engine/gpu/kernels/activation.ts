/** Activations: one dispatch forward, one backward. */
import { customKernels } from "../runtime/custom-kernels.ts";
import { defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";
import { runVectors, type VectorProgram } from "../tfjs/vector-points.ts";

/** x · Φ(x) in the exact erf form. */
export function gelu(x: Tensor): Tensor {
  if (customKernels() && suits(x)) return customGelu({ x })[0] as Tensor;
  return tf.tidy(() => x.mul(x.mul(Math.SQRT1_2).erf().add(1)).mul(0.5));
}

/** x · sigmoid(x). */
export function silu(x: Tensor): Tensor {
  return tf.tidy(() => x.mul(x.sigmoid()));
}

/** silu(gate) · up. */
export function swiglu(gate: Tensor, up: Tensor): Tensor {
  const alike = tf.util.arraysEqual(gate.shape, up.shape);
  if (customKernels() && alike && suits(gate, up)) return customSwiglu({ gate, up })[0] as Tensor;
  return tf.tidy(() => silu(gate).mul(up));
}

/**
 * Φ by the error function of Abramowitz and Stegun 7.1.26, as the backend's own Erf has it: |error| ≤ 0.8e-7. Its
 * e^(−x²/2) is also the normal density of the gradient.
 */
const NORMAL = `
  fn bell(x: V) -> V { return exp(-min(0.5 * x * x, V(80.0))); }
  fn normal(x: V, bell: V) -> V {
    let t = 1.0 / (1.0 + 0.23164189 * abs(x));
    let poly = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    let tail = 0.5 * poly * bell;
    return select(tail, 1.0 - tail, x >= V(0.0));
  }`;

const GELU: VectorProgram = {
  name: "lab-gelu",
  inputs: ["x"],
  outputs: ["y"],
  header: NORMAL,
  body: "let y = x * normal(x, bell(x));",
};
const GELU_GRAD: VectorProgram = {
  name: "lab-gelu-grad",
  inputs: ["dy", "x"],
  outputs: ["dx"],
  header: NORMAL,
  body: "let b = bell(x); let dx = dy * (normal(x, b) + 0.3989422804014327 * x * b);",
};

const customGelu = defineOp({
  name: "LabGelu",
  saved: ["x"],
  forward: ({ x }) => runVectors(GELU, [x as tf.TensorInfo]),
  gradient: ([dy], [x]) => ({ x: () => toTensor(runVectors(GELU_GRAD, [dy as Tensor, x as Tensor])[0]) }),
});

/** The exponent is bounded because exp(88.8) overflows float32. */
const SIGMOID = "fn sigmoid(x: V) -> V { return 1.0 / (1.0 + exp(min(-x, V(87.0)))); }";

const SWIGLU: VectorProgram = {
  name: "lab-swiglu",
  inputs: ["gate", "up"],
  outputs: ["y"],
  header: SIGMOID,
  body: "let y = gate * sigmoid(gate) * up;",
};
const SWIGLU_GRAD: VectorProgram = {
  name: "lab-swiglu-grad",
  inputs: ["dy", "gate", "up"],
  outputs: ["dgate", "dup"],
  header: SIGMOID,
  body: `
    let s = sigmoid(gate);
    let dup = dy * gate * s;
    let dgate = dy * up * s * (1.0 + gate * (1.0 - s));`,
};

const customSwiglu = defineOp({
  name: "LabSwiglu",
  saved: ["gate", "up"],
  forward: ({ gate, up }) => runVectors(SWIGLU, [gate as tf.TensorInfo, up as tf.TensorInfo]),
  gradient([dy], [gate, up]) {
    const both = runVectors(SWIGLU_GRAD, [dy as Tensor, gate as Tensor, up as Tensor]).map(toTensor);
    const [dgate, dup] = both as [Tensor, Tensor];
    return { gate: () => dgate, up: () => dup };
  },
});
