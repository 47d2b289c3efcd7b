/** Steps of the optimiser over one tensor as one dispatch. Not differentiated. */
import { ownKernels } from "../own-kernels.ts";
import { suits, toTensor } from "../own-op.ts";
import { pointProgram, runPoints } from "../rows-program.ts";
import { type Tensor, tf } from "../tf.ts";

/** The numbers of one AdamW update, worked out in double precision on the host. */
export interface AdamwNumbers {
  readonly beta1: number;
  readonly beta2: number;
  /** Added after the bias-corrected root. */
  readonly eps: number;
  /** Factor of the weight: 1 − lr·decay. */
  readonly keep: number;
  /** lr / (1 − β1^t). */
  readonly stepSize: number;
  /** 1 / sqrt(1 − β2^t). */
  readonly rootScale: number;
}

const ADAMW = pointProgram({
  name: "lab-adamw",
  inputs: { param: "f32", grad: "f32", first: "f32", second: "f32" },
  outputs: { next: "f32", next_first: "f32", next_second: "f32" },
  uniforms: {
    size: "u32",
    beta1: "f32",
    rest1: "f32",
    beta2: "f32",
    rest2: "f32",
    eps: "f32",
    keep: "f32",
    stepSize: "f32",
    rootScale: "f32",
  },
  body: `
    let g = grad[i];
    let m = first[i] * u.beta1 + g * u.rest1;
    let v = second[i] * u.beta2 + g * g * u.rest2;
    next_first[i] = m;
    next_second[i] = v;
    next[i] = param[i] * u.keep - m / (sqrt(v) * u.rootScale + u.eps) * u.stepSize;`,
});

/** One update (1711.05101). Returns the new parameter and both new moments, all owned by the caller. */
export function adamwUpdate(
  param: Tensor,
  grad: Tensor,
  m: Tensor,
  v: Tensor,
  numbers: AdamwNumbers,
): [Tensor, Tensor, Tensor] {
  const { beta1, beta2, eps, keep, stepSize, rootScale } = numbers;
  if (ownKernels() && suits(param, grad, m, v)) {
    const outputs = [param, m, v].map(({ shape }) => ({ shape }));
    const uniforms = [beta1, 1 - beta1, beta2, 1 - beta2, eps, keep, stepSize, rootScale];
    return runPoints(ADAMW, [param, grad, m, v], outputs, param.size, uniforms).map(toTensor) as [
      Tensor,
      Tensor,
      Tensor,
    ];
  }
  return tf.tidy(() => {
    const newM = m.mul(beta1).add(grad.mul(1 - beta1));
    const newV = v.mul(beta2).add(grad.square().mul(1 - beta2));
    const root = newV.sqrt().mul(rootScale).add(eps);
    return [param.mul(keep).sub(newM.div(root).mul(stepSize)), newM, newV] as [Tensor, Tensor, Tensor];
  });
}

const MOVE = pointProgram({
  name: "lab-move-towards",
  inputs: { x: "f32", goal: "f32" },
  outputs: { result: "f32" },
  uniforms: { size: "u32", share: "f32" },
  body: "result[i] = x[i] + (goal[i] - x[i]) * u.share;",
});

/** x + share · (goal − x), same shapes; owned by the caller. */
export function moveTowards(x: Tensor, goal: Tensor, share: number): Tensor {
  if (ownKernels() && suits(x, goal))
    return toTensor(runPoints(MOVE, [x, goal], [{ shape: x.shape }], x.size, [share])[0]);
  return tf.tidy(() => x.add(goal.sub(x).mul(share)));
}
