/**
 * Python's white space. JavaScript's `\s` lacks U+001C–001F and U+0085 and has U+FEFF, so captions with these would be
 * split differently.
 */
const SPACE = "\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const GAP = new RegExp(`[${SPACE}]+`, "u");
const FIRST = new RegExp(`[^${SPACE}]`, "u");
const SPACE_ONLY = new RegExp(`^[${SPACE}]$`, "u");

/**
 * Tokens of a caption as Python's `text.strip().lower().split()` cuts them: at white space only, punctuation stays
 * attached; an empty or blank text has none (docs/spec/rewards.md#tokens).
 */
export function meteorTokens(text: string): string[] {
  return text
    .toLowerCase()
    .split(GAP)
    .filter((token) => token !== "");
}

/** A text without Python's white space at both ends. */
export function pythonStrip(text: string): string {
  const start = text.search(FIRST);
  if (start < 0) return "";
  let end = text.length;
  while (SPACE_ONLY.test(text[end - 1] as string)) end--;
  return text.slice(start, end);
}
