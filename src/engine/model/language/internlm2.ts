/**
 * Block layout of InternLM2: one projection for queries, keys and values whose rows are grouped by key/value head, each
 * group being its query heads, its key and its value (docs/spec/sa2va.md#11-language-models).
 */
import { type Tensor, tf } from "../../gpu/tf.ts";
import { activatedLayer, addLayer, linearLayer } from "../weights/linear-layer.ts";
import type { BlockFamily } from "./language-family.ts";

export const INTERNLM2: BlockFamily = {
  embedding: "language_model.model.tok_embeddings.weight",
  head: "language_model.output.weight",
  finalNorm: "language_model.model.norm.weight",
  norms: ["attention_norm", "ffn_norm"],
  block: (index) => `language_model.model.layers.${index}`,
  linears({ hiddenSize, mlpSize, heads, kvHeads, headSize, attentionBias: bias, outputBias }, path) {
    return [
      { path: `${path}.attention.wqkv`, inSize: hiddenSize, outSize: (heads + 2 * kvHeads) * headSize, bias },
      { path: `${path}.attention.wo`, inSize: heads * headSize, outSize: hiddenSize, bias: outputBias },
      { path: `${path}.feed_forward.w1`, inSize: hiddenSize, outSize: mlpSize, bias: false },
      { path: `${path}.feed_forward.w3`, inSize: hiddenSize, outSize: mlpSize, bias: false },
      { path: `${path}.feed_forward.w2`, inSize: mlpSize, outSize: hiddenSize, bias: false },
    ];
  },
  project(w, { heads, kvHeads, headSize }, path, x) {
    const [batch, length] = x.shape as [number, number, number];
    const group = heads / kvHeads;
    const rows = linearLayer(w, `${path}.attention.wqkv`, x).reshape([batch * length * kvHeads, -1]);
    const parts = tf.split(rows, [group * headSize, headSize, headSize], 1) as [Tensor, Tensor, Tensor];
    // Rows run over batch, position and key/value head, so the reshape brings a part's heads together again.
    const [q, k, v] = parts.map((part, at) =>
      part.reshape([batch, length, at === 0 ? heads : kvHeads, headSize]).transpose([0, 2, 1, 3]),
    ) as [Tensor, Tensor, Tensor];
    return { q, k, v };
  },
  output: (w, path, x, stream) => addLayer(w, `${path}.attention.wo`, x, stream),
  mlp(w, path, x, stream) {
    const gate = linearLayer(w, `${path}.feed_forward.w1`, x);
    const gated = activatedLayer(w, `${path}.feed_forward.w3`, x, "gate", gate);
    return addLayer(w, `${path}.feed_forward.w2`, gated, stream);
  },
};
