/** Folders of tiny Sa2VA models on Qwen-VL: random weights under published names, with a small tokenizer. */
import { trueConfig, writeGoldenTokenizer, writeSynthetic } from "../../bench/made-up/checkpoint.ts";
import { QWEN_TOKENS, tinyQwenConfig } from "../../bench/made-up/qwen.ts";

/** Writes a model folder to an existing directory. */
export function writeTinyQwen(directory: string, family: "qwen3" | "qwen2.5"): void {
  const golden = trueConfig("small") as { llm_config: { vocab_size: number }; sam2_config: unknown };
  writeSynthetic(directory, tinyQwenConfig(family, golden.sam2_config, golden.llm_config.vocab_size), 1e9);
  writeGoldenTokenizer(directory, QWEN_TOKENS);
}
