/**
 * Block layout of Llama and its successors: separate projections, gated SiLU feed-forward
 * (docs/spec/sa2va.md#11-language-models). Qwen2 has biases on q, k, v; Llama and Qwen3 have them if configured; Qwen3
 * also norms each head of q and k.
 */
import { type BlockFamily, separateHeads } from "./language/language-family.ts";
import { activatedLayer, addLayer, linearLayer } from "./weights/linear-layer.ts";

export const LLAMA: BlockFamily = {
  embedding: "language_model.model.embed_tokens.weight",
  head: "language_model.lm_head.weight",
  finalNorm: "language_model.model.norm.weight",
  norms: ["input_layernorm", "post_attention_layernorm"],
  block: (index) => `language_model.model.layers.${index}`,
  linears({ hiddenSize, mlpSize, heads, kvHeads, headSize, attentionBias: bias, outputBias, mlpBias }, path) {
    return [
      { path: `${path}.self_attn.q_proj`, inSize: hiddenSize, outSize: heads * headSize, bias },
      { path: `${path}.self_attn.k_proj`, inSize: hiddenSize, outSize: kvHeads * headSize, bias },
      { path: `${path}.self_attn.v_proj`, inSize: hiddenSize, outSize: kvHeads * headSize, bias },
      { path: `${path}.self_attn.o_proj`, inSize: heads * headSize, outSize: hiddenSize, bias: outputBias },
      { path: `${path}.mlp.gate_proj`, inSize: hiddenSize, outSize: mlpSize, bias: mlpBias },
      { path: `${path}.mlp.up_proj`, inSize: hiddenSize, outSize: mlpSize, bias: mlpBias },
      { path: `${path}.mlp.down_proj`, inSize: mlpSize, outSize: hiddenSize, bias: mlpBias },
    ];
  },
  project: (w, config, path, x) => ({
    q: separateHeads(linearLayer(w, `${path}.self_attn.q_proj`, x), config.heads),
    k: separateHeads(linearLayer(w, `${path}.self_attn.k_proj`, x), config.kvHeads),
    v: separateHeads(linearLayer(w, `${path}.self_attn.v_proj`, x), config.kvHeads),
  }),
  output: (w, path, x, stream) => addLayer(w, `${path}.self_attn.o_proj`, x, stream),
  mlp(w, path, x, stream) {
    const gated = activatedLayer(w, `${path}.mlp.up_proj`, x, "gate", linearLayer(w, `${path}.mlp.gate_proj`, x));
    return addLayer(w, `${path}.mlp.down_proj`, gated, stream);
  },
};

export const QWEN3: BlockFamily = { ...LLAMA, headNorms: ["self_attn.q_norm", "self_attn.k_norm"] };
