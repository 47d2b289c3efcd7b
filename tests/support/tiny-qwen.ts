/** Folders of tiny Sa2VA models on Qwen-VL: random weights under published names, with a small tokenizer. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GOLDEN, TOKENIZER_FILES, trueConfig, writeSynthetic } from "../../bench/made-up/checkpoint.ts";
import { tinyQwenConfig } from "../../bench/made-up/qwen.ts";
import { root } from "../../scripts/lib/ensure.mjs";

/** The golden tokenizer's names of visual tokens, and Qwen-VL's. */
const RENAMED = [
  ["<IMG_CONTEXT>", "<|image_pad|>"],
  ["<img>", "<|vision_start|>"],
  ["</img>", "<|vision_end|>"],
] as const;

/** Writes a model folder to an existing directory. */
export function writeTinyQwen(directory: string, family: "qwen3" | "qwen2.5"): void {
  const golden = trueConfig("small") as { llm_config: { vocab_size: number }; sam2_config: unknown };
  writeSynthetic(directory, tinyQwenConfig(family, golden.sam2_config, golden.llm_config.vocab_size), 1e9);
  for (const file of TOKENIZER_FILES) {
    let text = readFileSync(join(root, GOLDEN, file), "utf8");
    for (const [name, own] of RENAMED) text = text.replaceAll(JSON.stringify(name), JSON.stringify(own));
    writeFileSync(join(directory, file), text);
  }
}
