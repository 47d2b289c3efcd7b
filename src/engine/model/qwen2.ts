/** Block layout of Qwen2: separate projections with bias on q, k, v; gated SiLU feed-forward (reference: sa2va.md §11). */
import { swiglu } from "../gpu/kernels/activation.ts";
import type { Tensor } from "../gpu/tf.ts";
import type { BlockFamily } from "./language.ts";
import { linearLayer } from "./linear-layer.ts";

/** [B, T, H·d] → [B, H, T, d]. */
function heads(x: Tensor, count: number): Tensor {
  const [batch, length, width] = x.shape as [number, number, number];
  return x.reshape([batch, length, count, width / count]).transpose([0, 2, 1, 3]);
}

export const QWEN2: BlockFamily = {
  embedding: "language_model.model.embed_tokens.weight",
  finalNorm: "language_model.model.norm.weight",
  norms: ["input_layernorm", "post_attention_layernorm"],
  block: (index) => `language_model.model.layers.${index}`,
  project: (w, config, path, x) => ({
    q: heads(linearLayer(w, `${path}.self_attn.q_proj`, x), config.heads),
    k: heads(linearLayer(w, `${path}.self_attn.k_proj`, x), config.kvHeads),
    v: heads(linearLayer(w, `${path}.self_attn.v_proj`, x), config.kvHeads),
  }),
  output: (w, path, x) => linearLayer(w, `${path}.self_attn.o_proj`, x),
  mlp(w, path, x) {
    const gated = swiglu(linearLayer(w, `${path}.mlp.gate_proj`, x), linearLayer(w, `${path}.mlp.up_proj`, x));
    return linearLayer(w, `${path}.mlp.down_proj`, gated);
  },
};
