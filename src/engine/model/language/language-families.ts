/** The families by name; all other code gets names and layouts from here. */

import { LLAMA, QWEN3 } from "../llama.ts";
import type { LanguageConfig, LanguageFamily } from "./config-language.ts";
import { INTERNLM2 } from "./internlm2.ts";
import type { BlockFamily } from "./language-family.ts";
import { PHI3 } from "./phi3.ts";

const FAMILIES: Readonly<Record<LanguageFamily, BlockFamily>> = {
  qwen2: LLAMA,
  qwen3: QWEN3,
  llama: LLAMA,
  internlm2: INTERNLM2,
  phi3: PHI3,
};

export function languageFamily(config: Pick<LanguageConfig, "family">): BlockFamily {
  return FAMILIES[config.family];
}

/** Names that the head or the embedding can have in any family. */
export const HEAD_NAMES: readonly string[] = [...new Set(Object.values(FAMILIES).map(({ head }) => head))];
export const EMBEDDING_NAMES: readonly string[] = [...new Set(Object.values(FAMILIES).map((one) => one.embedding))];
