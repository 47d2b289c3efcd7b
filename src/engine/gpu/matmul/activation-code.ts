/**
 * WGSL of the activations that products apply to their sums and that separate programs apply. `V` is a vector or a
 * number.
 */
import type { tf } from "../tf.ts";

/** gate: silu(other) · sum; residual: other + sum. `other` is a tensor of the result's shape. */
export type Activation = "gelu" | "relu" | "gate" | "residual";

/** The activation that a product applies to its sums. */
export interface AfterSums {
  readonly kind: Activation;
  /** [M, N] for "gate" and "residual". */
  readonly other?: tf.TensorInfo | undefined;
  /** Tensor that stores the sums for the gradient; if absent, they are not stored. */
  readonly sums?: tf.TensorInfo | undefined;
}

/**
 * Φ by the error function of Abramowitz and Stegun 7.1.26, as in the backend's Erf: |error| ≤ 0.8e-7. Its e^(−x²/2) is
 * also the normal density of the gradient.
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

/** The result for a sum `x` and its `other`, by activation. */
export const ACTIVATIONS = {
  gelu: "x * normal(x, bell(x))",
  relu: "max(x, V(0.0))",
  gate: "other * sigmoid(other) * x",
  residual: "other + x",
} as const satisfies Readonly<Record<Activation, string>>;

const KINDS = Object.keys(ACTIVATIONS) as Activation[];

/** End of the name of a program that applies an activation. */
export const ACTIVATED = "-activated";

/** Additional inputs, outputs and uniforms of a program that applies an activation; one program serves all kinds. */
export function afterBeside<T>(
  activates: boolean,
  type: T,
): { inputs: Record<string, T>; outputs: Record<string, T>; uniforms: Record<string, "u32"> } {
  if (!activates) return { inputs: {}, outputs: {}, uniforms: {} };
  return { inputs: { others: type }, outputs: { activated: type }, uniforms: { activation: "u32", keeps: "u32" } };
}

/** The value of the uniform `activation`. */
export function activationCode(kind: Activation): number {
  return KINDS.indexOf(kind);
}

/** WGSL function `after(at)`: applies the activation to `result[at]`, which is read back. Empty without one. */
export function afterCode(activates: boolean, type: "f32" | "vec4<f32>"): string {
  if (!activates) return "";
  const cases = KINDS.map((kind, code) => {
    const loaded = /\bother\b/.test(ACTIVATIONS[kind]) ? "let other = others[at]; " : "";
    return `case ${code}u: { ${loaded}y = ${ACTIVATIONS[kind]}; }`;
  });
  return `
      alias V = ${type};
      ${NORMAL}
      ${SIGMOID}
      fn after(at: u32) {
        let x = result[at];
        var y = x;
        switch u.activation {
          ${cases.join("\n")}
          default: {}
        }
        if (u.keeps != 0u) { activated[at] = y; } else { result[at] = y; }
      }`;
}
