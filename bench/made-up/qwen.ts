/** config.json of Sa2VA on Qwen-VL for checkpoints of random weights: published sizes, and tiny ones. */

type Json = Record<string, unknown>;

/** Sizes of a published release: language model D, layers, heads, key/value heads, mlp, and rows of the embedding. */
const LANGUAGE = {
  "qwen3-vl-2b": [2048, 28, 16, 8, 6144, 151_674],
  "qwen3-vl-4b": [2560, 36, 32, 8, 9728, 151_674],
  "qwen2.5-vl-3b": [2048, 36, 16, 2, 11_008, 151_670],
  "qwen2.5-vl-7b": [3584, 28, 28, 4, 18_944, 151_670],
} as const;

/** Names of the releases. */
export const QWEN_RELEASES = Object.keys(LANGUAGE) as readonly QwenRelease[];
export type QwenRelease = keyof typeof LANGUAGE;

/** The golden tokenizer's names of visual tokens, and Qwen-VL's. */
export const QWEN_TOKENS = [
  ["<IMG_CONTEXT>", "<|image_pad|>"],
  ["<img>", "<|vision_start|>"],
  ["</img>", "<|vision_end|>"],
] as const;

const CLASS: Json = {
  architectures: ["Sa2VAChatModelQwen"],
  model_type: "sa2va_chat",
  template: "qwen_chat",
  tie_word_embeddings: false,
};
/** Fields of the towers that are the same at every size. */
const TOWERS = {
  qwen3: { model_type: "qwen3_vl", hidden_act: "gelu_pytorch_tanh", patch_size: 16 },
  "qwen2.5": { model_type: "qwen2_5_vl", hidden_act: "silu", patch_size: 14, window_size: 112 },
} as const;
const PATCHES = { temporal_patch_size: 2, spatial_merge_size: 2 };

/** config.json of a release with its true sizes. @param most blocks of the language model and of the tower, at most */
export function qwenConfig(release: QwenRelease, most = Number.POSITIVE_INFINITY): Json {
  const [hidden, layers, heads, kvHeads, mlp, rows] = LANGUAGE[release];
  const newer = release.startsWith("qwen3");
  const rope = newer
    ? { mrope_section: [24, 20, 20], mrope_interleaved: true, rope_type: "default" }
    : { mrope_section: [16, 24, 24], rope_type: "default" };
  const tower = newer
    ? {
        depth: Math.min(24, most),
        hidden_size: 1024,
        intermediate_size: 4096,
        num_position_embeddings: 2304,
        deepstack_visual_indexes: [5, 11, 17].filter((block) => block < most),
      }
    : {
        depth: Math.min(32, most),
        hidden_size: 1280,
        intermediate_size: 3420,
        fullatt_block_indexes: [7, 15, 23, 31].filter((block) => block < most),
      };
  return {
    ...CLASS,
    text_config: {
      model_type: newer ? "qwen3_vl_text" : "qwen2_5_vl_text",
      vocab_size: rows,
      hidden_size: hidden,
      intermediate_size: mlp,
      num_hidden_layers: Math.min(layers, most),
      num_attention_heads: heads,
      num_key_value_heads: kvHeads,
      head_dim: 128,
      max_position_embeddings: newer ? 262_144 : 128_000,
      rms_norm_eps: 1e-6,
      rope_theta: newer ? 5e6 : 1e6,
      rope_scaling: rope,
    },
    vision_config: {
      ...TOWERS[newer ? "qwen3" : "qwen2.5"],
      ...PATCHES,
      ...tower,
      num_heads: 16,
      out_hidden_size: hidden,
    },
  };
}

/** config.json of a tiny model of either family. @param sam2 sizes of a tiny SAM2 @param rows of the embedding */
export function tinyQwenConfig(family: keyof typeof TOWERS, sam2: unknown, rows: number): Json {
  const newer = family === "qwen3";
  const tower = newer
    ? { num_position_embeddings: 36, deepstack_visual_indexes: [0, 1] }
    : { fullatt_block_indexes: [1] };
  return {
    ...CLASS,
    text_config: {
      model_type: newer ? "qwen3_vl_text" : "qwen2_5_vl_text",
      vocab_size: rows,
      hidden_size: 32,
      intermediate_size: 48,
      num_hidden_layers: 3,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      head_dim: 8,
      max_position_embeddings: 4096,
      rms_norm_eps: 1e-6,
      rope_theta: 1e6,
      rope_scaling: { mrope_section: [2, 1, 1], mrope_interleaved: newer, rope_type: "default" },
    },
    vision_config: {
      ...TOWERS[family],
      ...PATCHES,
      ...tower,
      depth: 2,
      hidden_size: 32,
      num_heads: 2,
      intermediate_size: 40,
      out_hidden_size: 32,
    },
    sam2_config: sam2,
  };
}
