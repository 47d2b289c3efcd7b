/** WGSL of the activations that products apply to their sums, and of those of separate programs. `V` is a vector or a number. */
import type { tf } from "../tf.ts";

/** gate: silu(other) · sum; residual: other + sum; with another tensor of the result's shape. */
export type Activation = "gelu" | "relu" | "gate" | "residual";

/** What a product makes of its sums. */
export interface AfterSums {
  readonly kind: Activation;
  /** [M, N] for "gate" and "residual". */
  readonly other?: tf.TensorInfo | undefined;
  /** Tensor that keeps the sums for the gradient; they are not kept where absent. */
  readonly sums?: tf.TensorInfo | undefined;
}

/**
 * Φ by the error function of Abramowitz and Stegun 7.1.26, as the backend's own Erf has it: |error| ≤ 0.8e-7. Its
 * e^(−x²/2) is also the normal density of the gradient.
 */
export const NORMAL = `
  fn bell(x: V) -> V { return exp(-min(0.5 * x * x, V(80.0))); }
  fn normal(x: V, bell: V) -> V {
    let t = 1.0 / (1.0 + 0.23164189 * abs(x));
    let poly = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    let tail = 0.5 * poly * bell;
    return select(tail, 1.0 - tail, x >= V(0.0));
  }`;

/** The exponent is bounded because exp(88.8) overflows float32. */
export const SIGMOID = "fn sigmoid(x: V) -> V { return 1.0 / (1.0 + exp(min(-x, V(87.0)))); }";

/** By activation: functions, and the result for a sum `x` and its `other`. */
export const ACTIVATIONS: Readonly<Record<Activation, { readonly header: string; readonly value: string }>> = {
  gelu: { header: NORMAL, value: "x * normal(x, bell(x))" },
  relu: { header: "", value: "max(x, V(0.0))" },
  gate: { header: SIGMOID, value: "other * sigmoid(other) * x" },
  residual: { header: "", value: "other + x" },
};

const takesOther = (kind: Activation | undefined): boolean => kind === "gate" || kind === "residual";

/** The part of a form that says what becomes of the sums. */
export interface After {
  readonly kind: Activation;
  /** Whether the sums stay in `result` and `activated` takes the values. */
  readonly keeps: boolean;
}

/** The record of a product's activation; undefined without one. */
export function afterOf(after: AfterSums | undefined): After | undefined {
  return after === undefined ? undefined : { kind: after.kind, keeps: after.sums !== undefined };
}

/** End of a program's name. */
export function afterName(after: After | undefined): string {
  return after === undefined ? "" : `-${after.kind}${after.keeps ? "-keeping" : ""}`;
}

/** Buffers of the activation beside those of the product, read and written. */
export function afterBuffers<T>(
  after: After | undefined,
  type: T,
): { inputs: Record<string, T>; outputs: Record<string, T> } {
  return {
    inputs: takesOther(after?.kind) ? { others: type } : {},
    outputs: after?.keeps === true ? { activated: type } : {},
  };
}

/** WGSL function `after(at)`: applies the activation to `result[at]`, which is read back. Empty without one. */
export function afterCode(after: After | undefined, type: "f32" | "vec4<f32>"): string {
  if (after === undefined) return "";
  const { header, value } = ACTIVATIONS[after.kind];
  return `
      alias V = ${type};
      ${header}
      fn after(at: u32) {
        let x = result[at];
        ${takesOther(after.kind) ? "let other = others[at];" : ""}
        ${after.keeps ? "activated" : "result"}[at] = ${value};
      }`;
}
