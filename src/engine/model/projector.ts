/** Projects vision tokens to the language model's width (docs/spec/sa2va.md#9-pixel-shuffle-and-projector). */
import { layerNorm } from "../gpu/kernels/norm.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { activatedLayer, linearLayer } from "./weights/linear-layer.ts";
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
    return linearLayer(w, "mlp1.3", activatedLayer(w, "mlp1.1", normed, "gelu"));
  });
}
