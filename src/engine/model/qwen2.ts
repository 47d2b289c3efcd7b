/** Block layout of Qwen2: separate projections with bias on q, k, v; gated SiLU feed-forward (reference: sa2va.md §11). */
import { swiglu } from "../gpu/kernels/activation.ts";
import { type BlockFamily, separateHeads } from "./language-family.ts";
import { linearLayer } from "./linear-layer.ts";

export const QWEN2: BlockFamily = {
  embedding: "language_model.model.embed_tokens.weight",
  head: "language_model.lm_head.weight",
  finalNorm: "language_model.model.norm.weight",
  norms: ["input_layernorm", "post_attention_layernorm"],
  block: (index) => `language_model.model.layers.${index}`,
  linears({ hiddenSize, mlpSize, heads, kvHeads, headSize, attentionBias: bias }, path) {
    return [
      { path: `${path}.self_attn.q_proj`, inSize: hiddenSize, outSize: heads * headSize, bias },
      { path: `${path}.self_attn.k_proj`, inSize: hiddenSize, outSize: kvHeads * headSize, bias },
      { path: `${path}.self_attn.v_proj`, inSize: hiddenSize, outSize: kvHeads * headSize, bias },
      { path: `${path}.self_attn.o_proj`, inSize: heads * headSize, outSize: hiddenSize, bias: false },
      { path: `${path}.mlp.gate_proj`, inSize: hiddenSize, outSize: mlpSize, bias: false },
      { path: `${path}.mlp.up_proj`, inSize: hiddenSize, outSize: mlpSize, bias: false },
      { path: `${path}.mlp.down_proj`, inSize: mlpSize, outSize: hiddenSize, bias: false },
    ];
  },
  project: (w, config, path, x) => ({
    q: separateHeads(linearLayer(w, `${path}.self_attn.q_proj`, x), config.heads),
    k: separateHeads(linearLayer(w, `${path}.self_attn.k_proj`, x), config.kvHeads),
    v: separateHeads(linearLayer(w, `${path}.self_attn.v_proj`, x), config.kvHeads),
  }),
  output: (w, path, x) => linearLayer(w, `${path}.self_attn.o_proj`, x),
  mlp(w, path, x) {
    const gated = swiglu(linearLayer(w, `${path}.mlp.gate_proj`, x), linearLayer(w, `${path}.mlp.up_proj`, x));
    return linearLayer(w, `${path}.mlp.down_proj`, gated);
  },
};
