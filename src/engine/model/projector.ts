/** Projects vision tokens to the language model's width (docs/spec/sa2va.md#9-pixel-shuffle-and-projector). */
import { Following, linear } from "../gpu/kernels/linear.ts";
import { layerNorm } from "../gpu/kernels/norm.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { Weights } from "./weights/weights.ts";

const NORM_EPS = 1e-5;

/**
 * LayerNorm, linear, GELU, linear. Differentiable in x and in `mlp1.*`.
 * @param x pixel-shuffled vision tokens [n, tokens, 4H]
 * @returns [n, tokens, D]
 */
export function projectVisual(w: Weights, x: Tensor): Tensor {
  return tf.tidy(() => {
    const normed = layerNorm(x, w.get("mlp1.0.weight"), w.get("mlp1.0.bias"), NORM_EPS);
    const [weight, bias] = [w.get("mlp1.1.weight"), w.get("mlp1.1.bias")];
    const hidden = linear(normed, weight, bias, undefined, new Following("gelu"));
    return linear(hidden, w.get("mlp1.3.weight"), w.get("mlp1.3.bias"));
  });
}
