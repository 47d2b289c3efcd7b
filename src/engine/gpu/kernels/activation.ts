/** Activations: one dispatch forward (none if a product has already applied the activation), one backward. */
import { ACTIVATIONS, type Activation, NORMAL, SIGMOID } from "../matmul/activation-code.ts";
import { customKernels, defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { shareData } from "../runtime/program.ts";
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

/**
 * The activation of sums, and its gradient for them.
 * @param other for "gate" and "residual", of the shape of the sums
 * @param known the result, if a product has already computed it; no gradient goes through it
 */
export function activation(kind: Activation, sums: Tensor, other?: Tensor, known?: Tensor): Tensor {
  if (known === undefined) {
    if (kind === "gate") return swiglu(other as Tensor, sums);
    if (kind === "residual") return (other as Tensor).add(sums);
    return kind === "gelu" ? gelu(sums) : sums.relu();
  }
  if (kind === "gate") return customSwiglu({ gate: other as Tensor, up: sums, known })[0] as Tensor;
  if (kind === "residual") return customResidual({ other: other as Tensor, known })[0] as Tensor;
  return (kind === "gelu" ? customGelu({ x: sums, known }) : customRelu({ x: sums, known }))[0] as Tensor;
}

/** silu(gate) · up. */
export function swiglu(gate: Tensor, up: Tensor): Tensor {
  const alike = tf.util.arraysEqual(gate.shape, up.shape);
  if (customKernels() && alike && suits(gate, up)) return customSwiglu({ gate, up })[0] as Tensor;
  return tf.tidy(() => silu(gate).mul(up));
}

const GELU: VectorProgram = {
  name: "lab-gelu",
  inputs: ["x"],
  outputs: ["y"],
  header: NORMAL,
  body: `let y = ${ACTIVATIONS.gelu};`,
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
  forward: ({ x, known }) => (known === undefined ? runVectors(GELU, [x as tf.TensorInfo]) : [shared(known)]),
  gradient: ([dy], [x]) => ({ x: () => toTensor(runVectors(GELU_GRAD, [dy as Tensor, x as Tensor])[0]) }),
});

const RELU_GRAD: VectorProgram = {
  name: "lab-relu-grad",
  inputs: ["dy", "y"],
  outputs: ["dx"],
  body: "let dx = select(V(0.0), dy, y > V(0.0));",
};

const customRelu = defineOp({
  name: "LabRelu",
  saved: ["x"],
  forward: ({ known }) => [shared(known as tf.TensorInfo)],
  gradient: ([dy], [x]) => ({ x: () => toTensor(runVectors(RELU_GRAD, [dy as Tensor, x as Tensor])[0]) }),
});

/** `known` is the sum of both, and its gradient is the gradient of each. */
const customResidual = defineOp({
  name: "LabResidual",
  saved: [],
  forward: ({ known }) => [shared(known as tf.TensorInfo)],
  gradient: ([dy]) => ({ other: () => (dy as Tensor).clone(), known: () => (dy as Tensor).clone() }),
});

const shared = (known: tf.TensorInfo): tf.TensorInfo => shareData(known, known.shape);

const SWIGLU: VectorProgram = {
  name: "lab-swiglu",
  inputs: ["gate", "up"],
  outputs: ["y"],
  header: SIGMOID,
  body: `let x = up; let other = gate; let y = ${ACTIVATIONS.gate};`,
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
  forward({ gate, up, known }) {
    return known === undefined ? runVectors(SWIGLU, [gate as tf.TensorInfo, up as tf.TensorInfo]) : [shared(known)];
  },
  gradient([dy], [gate, up]) {
    const both = runVectors(SWIGLU_GRAD, [dy as Tensor, gate as Tensor, up as Tensor]).map(toTensor);
    const [dgate, dup] = both as [Tensor, Tensor];
    return { gate: () => dgate, up: () => dup };
  },
});
