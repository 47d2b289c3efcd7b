/** The interface of a vocabulary, from which `openTokenizer` makes a `Tokenizer`. */
import type { TextRange } from "./split-added.ts";

export interface TokenizerCore {
  /** @param literal ranges that are plain text whatever they spell */
  encode(text: string, literal?: readonly TextRange[]): number[];
  /** Finds the added tokens that `encode` recognises; undefined when there are none. */
  readonly added: RegExp | undefined;
  decode(ids: readonly number[], keepSpecial: boolean): string;
  find(token: string): number | undefined;
  readonly vocabSize: number;
}
