/** Blanks that decoding drops when tokenizer_config.json asks for `clean_up_tokenization_spaces`, one after another. */
const CLEAN_UP: readonly (readonly [string, string])[] = [
  [" .", "."],
  [" ?", "?"],
  [" !", "!"],
  [" ,", ","],
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
];

export function cleanUp(text: string): string {
  return CLEAN_UP.reduce((cleaned, [from, to]) => cleaned.replaceAll(from, to), text);
}
