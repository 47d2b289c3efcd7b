/** Blanks that decoding removes if tokenizer_config.json sets `clean_up_tokenization_spaces`, in this order. */
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
