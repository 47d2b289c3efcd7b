/** Chat templates of the Sa2VA family; none sends a system message (docs/spec/sa2va.md#62-chat-templates). */
import { pythonStrip } from "../bytes/text.ts";
import type { Tokenizer } from "./tokenizer.ts";

export type TemplateName = "qwen_chat" | "phi3_chat" | "internlm2_chat" | "llama3_chat";

interface ChatTemplate {
  /** The user's turn with the start of the answer. */
  readonly wrap: (input: string) => string;
  /** Texts that end an answer; the first one closes trained answers. */
  readonly stopWords: readonly [string, ...string[]];
  /** Whether the sequence starts with the bos id if the tokenizer's files do not specify it. */
  readonly bos: boolean;
}

const imTurns = (input: string): string => `<|im_start|>user\n${input}<|im_end|>\n<|im_start|>assistant\n`;

export const TEMPLATES: Readonly<Record<TemplateName, ChatTemplate>> = {
  qwen_chat: { wrap: imTurns, stopWords: ["<|im_end|>", "<|endoftext|>"], bos: false },
  internlm2_chat: { wrap: imTurns, stopWords: ["<|im_end|>"], bos: true },
  llama3_chat: {
    wrap: (input) =>
      `<|start_header_id|>user<|end_header_id|>\n\n${input}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n`,
    stopWords: ["<|eot_id|>"],
    bos: true,
  },
  phi3_chat: { wrap: (input) => `<|user|>\n${input}<|end|>\n<|assistant|>\n`, stopWords: ["<|end|>"], bos: false },
};

/** When an answer ends (docs/spec/sa2va.md#7-generation). */
export interface StopRule {
  readonly words: readonly string[];
  /** True when the last of the newly generated ids is the end id or their text ends with a stop word. */
  reached(ids: readonly number[]): boolean;
  /** The text of an answer without its stop word and other special tokens, trimmed. */
  answer(ids: readonly number[]): string;
}

/** Ids decoded first in the search for a stop word; the published ones take one to five. */
const TAIL = 16;

export function stopRule(tokenizer: Tokenizer, template: TemplateName): StopRule {
  const words = TEMPLATES[template].stopWords;
  const longest = Math.max(...words.map((word) => word.length));
  const endsWithWord = (ids: readonly number[]): boolean => {
    for (let take = Math.min(TAIL, ids.length); ; take = Math.min(2 * take, ids.length)) {
      const text = tokenizer.decode(ids.slice(ids.length - take), { keepSpecial: true }).replace(/[\r\n]/g, "");
      if (words.some((word) => text.endsWith(word))) return true;
      // Line breaks do not count, so a long run of line breaks needs a longer tail.
      if (text.length > longest || take === ids.length) return false;
    }
  };
  return {
    words,
    reached: (ids) => ids.length > 0 && (ids[ids.length - 1] === tokenizer.special.eos || endsWithWord(ids)),
    answer(ids) {
      let text = tokenizer.decode(ids).trim();
      for (const word of words) if (text.endsWith(word)) text = text.slice(0, -word.length).trim();
      return text;
    },
  };
}

/**
 * Decoded new tokens, including special ones, without surrounding white space (by Python's rules): the reference's
 * "prediction".
 */
export function prediction(tokenizer: Tokenizer, ids: readonly number[]): string {
  return pythonStrip(tokenizer.decode(ids, { keepSpecial: true }));
}
