/** Files of vocabularies beside tokenizer.json and vocab.json; a folder's tokenizer.json is read before them. */
import type { RawAddedToken, TokenizerCore } from "../engine/text/added-tokens.ts";
import { sentencePiece } from "./sentencepiece/pieces-tokenizer.ts";

interface VocabularyFormat {
  /** Name of the file. */
  readonly file: string;
  /**
   * @param added tokens of tokenizer_config.json and added_tokens.json
   * @param config tokenizer_config.json
   * @throws LabError("bad-input") for a damaged file
   */
  open(
    data: Uint8Array,
    name: string,
    added: readonly RawAddedToken[],
    config: Readonly<Record<string, unknown>>,
  ): TokenizerCore;
}

export const PLUGIN_TOKENIZERS: readonly VocabularyFormat[] = [sentencePiece];
