/**
 * A model of random weights for tests that need no training: one block in every stack, so a step takes a third of the
 * pocket model's time. Its words make no sense, and its masks differ with the words.
 */
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TOKENIZER_FILES, writeSynthetic } from "../../bench/made-up/checkpoint.ts";
import { root } from "../../scripts/lib/ensure.mjs";

const POCKET = join(root, "public", "pocket", "model");

/** Folder of the small model, which every run of the GPU tests writes once. */
export function smallModel(): string {
  return process.env.LAB_TEST_MODEL as string;
}

export function writeSmallModel(folder: string): void {
  const pocket = JSON.parse(readFileSync(join(POCKET, "config.json"), "utf8")) as Record<string, object>;
  const config = {
    ...pocket,
    force_image_size: 56,
    hidden_size: 32,
    vision_config: {
      ...pocket.vision_config,
      image_size: 56,
      patch_size: 14,
      hidden_size: 32,
      num_hidden_layers: 1,
      num_attention_heads: 2,
      intermediate_size: 64,
    },
    llm_config: {
      ...pocket.llm_config,
      hidden_size: 32,
      intermediate_size: 64,
      num_hidden_layers: 1,
      num_attention_heads: 2,
      num_key_value_heads: 1,
    },
    sam2_config: {
      ...pocket.sam2_config,
      image_size: 64,
      embed_dim: 8,
      stages: [1, 1, 1, 1],
      global_att_blocks: [2],
      window_spec: [4, 4, 4, 2],
      hidden_dim: 32,
      decoder_depth: 1,
      decoder_num_heads: 2,
      decoder_mlp_dim: 32,
      iou_head_hidden_dim: 16,
      mask_in_chans: 8,
    },
  };
  writeSynthetic(folder, config, Number.POSITIVE_INFINITY);
  for (const file of TOKENIZER_FILES) copyFileSync(join(POCKET, file), join(folder, file));
}
