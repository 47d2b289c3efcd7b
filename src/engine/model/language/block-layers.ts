/** The linear layers of a transformer block in every family, by the paths of `blockParts`. */
import { swiglu } from "../../gpu/kernels/activation.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { activatedLayer, addLayer, linearLayer } from "../weights/linear-layer.ts";
import type { Weights } from "../weights/weights.ts";
import type { LanguageConfig } from "./config-language.ts";
import { languageFamily } from "./language-families.ts";

/** Queries [B, Hq, T, d], keys and values [B, Hkv, T, d] of `x` [B, T, D], before rotation. */
export function projectHeads(
  w: Weights,
  config: LanguageConfig,
  projections: readonly string[],
  x: Tensor,
): { readonly q: Tensor; readonly k: Tensor; readonly v: Tensor } {
  const { heads, kvHeads, headSize } = config;
  const [batch, length] = x.shape as [number, number, number];
  const layer = (at: number): Tensor => linearLayer(w, projections[at] as string, x);
  const parts = (): Tensor[] => {
    if (languageFamily(config).grouped !== true) {
      return tf.split(layer(0), [heads * headSize, kvHeads * headSize, kvHeads * headSize], 2);
    }
    // Rows run over batch, position and key/value head, so the reshape below brings a part's heads together again.
    const rows = layer(0).reshape([batch * length * kvHeads, -1]);
    return tf.split(rows, [(heads / kvHeads) * headSize, headSize, headSize], 1);
  };
  const fused = projections.length === 1 ? parts() : undefined;
  const separate = (at: number, count: number): Tensor =>
    (fused?.[at] ?? layer(at)).reshape([batch, length, count, headSize]).transpose([0, 2, 1, 3]);
  return { q: separate(0, heads), k: separate(1, kvHeads), v: separate(2, kvHeads) };
}

/** Adds the MLP of `x` to the stream, [B, T, D] each. */
export function addMlp(w: Weights, gated: readonly string[], down: string, x: Tensor, stream: Tensor): Tensor {
  const [gate, up] = gated as [string, string?];
  const rows = linearLayer(w, gate, x);
  if (up !== undefined) return addLayer(w, down, activatedLayer(w, up, x, "gate", rows), stream);
  return addLayer(w, down, swiglu(...(tf.split(rows, 2, 2) as [Tensor, Tensor])), stream);
}
