/**
 * config.json of the published checkpoints, as far as sizes depend on it (docs/spec/sa2va.md#2-model-family,
 * docs/spec/sa2va.md#17-sizes).
 */
export function publishedConfig(name: "1B" | "4B"): unknown {
  const sizes =
    name === "1B"
      ? { hidden_size: 896, num_hidden_layers: 24, num_attention_heads: 14, intermediate_size: 4864 }
      : { hidden_size: 2048, num_hidden_layers: 36, num_attention_heads: 16, intermediate_size: 11008 };
  return {
    architectures: ["Sa2VAChatModel"],
    model_type: "sa2va_chat",
    template: name === "1B" ? "qwen_chat" : "phi3_chat",
    force_image_size: 448,
    downsample_ratio: 0.5,
    dynamic_image_size: true,
    min_dynamic_patch: 1,
    max_dynamic_patch: 12,
    use_thumbnail: true,
    ps_version: "v2",
    select_layer: -1,
    tie_word_embeddings: false,
    vision_config: {
      architectures: ["InternVisionModel"],
      hidden_size: 1024,
      num_hidden_layers: 24,
      num_attention_heads: 16,
      intermediate_size: 4096,
      image_size: 448,
      patch_size: 14,
      qkv_bias: true,
      qk_normalization: false,
      norm_type: "layer_norm",
      hidden_act: "gelu",
    },
    llm_config: {
      architectures: ["Qwen2ForCausalLM"],
      model_type: "qwen2",
      vocab_size: 151679,
      num_key_value_heads: 2,
      hidden_act: "silu",
      max_position_embeddings: 32768,
      rope_theta: 1000000,
      ...sizes,
    },
  };
}
