import { pythonWords } from "../../bytes/text.ts";

/**
 * Tokens of a caption as Python's `text.strip().lower().split()` cuts them: at white space only, punctuation stays
 * attached; an empty or blank text has none (docs/spec/rewards.md#tokens).
 */
export function meteorTokens(text: string): string[] {
  return pythonWords(text.toLowerCase());
}
