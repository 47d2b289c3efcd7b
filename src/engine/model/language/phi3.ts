/**
 * Block layout of Phi-3: fused projections, [all q | all k | all v] and [gate | up], without bias
 * (docs/spec/sa2va.md#11-language-models).
 */
import { swiglu } from "../../gpu/kernels/activation.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { addLayer, linearLayer } from "../weights/linear-layer.ts";
import { type BlockFamily, separateHeads } from "./language-family.ts";

export const PHI3: BlockFamily = {
  embedding: "language_model.model.embed_tokens.weight",
  head: "language_model.lm_head.weight",
  finalNorm: "language_model.model.norm.weight",
  norms: ["input_layernorm", "post_attention_layernorm"],
  block: (index) => `language_model.model.layers.${index}`,
  linears({ hiddenSize, mlpSize, heads, kvHeads, headSize, attentionBias: bias }, path) {
    return [
      { path: `${path}.self_attn.qkv_proj`, inSize: hiddenSize, outSize: (heads + 2 * kvHeads) * headSize, bias },
      { path: `${path}.self_attn.o_proj`, inSize: heads * headSize, outSize: hiddenSize, bias: false },
      { path: `${path}.mlp.gate_up_proj`, inSize: hiddenSize, outSize: 2 * mlpSize, bias: false },
      { path: `${path}.mlp.down_proj`, inSize: mlpSize, outSize: hiddenSize, bias: false },
    ];
  },
  project(w, { heads, kvHeads, headSize }, path, x) {
    const fused = linearLayer(w, `${path}.self_attn.qkv_proj`, x);
    const widths = [heads * headSize, kvHeads * headSize, kvHeads * headSize];
    const [q, k, v] = tf.split(fused, widths, 2) as [Tensor, Tensor, Tensor];
    return { q: separateHeads(q, heads), k: separateHeads(k, kvHeads), v: separateHeads(v, kvHeads) };
  },
  output: (w, path, x, stream) => addLayer(w, `${path}.self_attn.o_proj`, x, stream),
  mlp(w, path, x, stream) {
    const [gate, up] = tf.split(linearLayer(w, `${path}.mlp.gate_up_proj`, x), 2, 2) as [Tensor, Tensor];
    return addLayer(w, `${path}.mlp.down_proj`, swiglu(gate, up), stream);
  },
};
