/**
 * White space as Python has it. JavaScript's `\s` and `trim` lack U+001C–001F and U+0085 and have U+FEFF, so that texts with
 * these would be cut differently from the programs whose numbers are compared.
 */
const SPACE = "\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const GAP = new RegExp(`[${SPACE}]+`, "u");
const FIRST = new RegExp(`[^${SPACE}]`, "u");
const SPACE_ONLY = new RegExp(`^[${SPACE}]$`, "u");

/** The words of a text, as `split()` gives them. */
export function pythonWords(text: string): string[] {
  return text.split(GAP).filter((word) => word !== "");
}

/** A text without white space at both ends, as `strip()` gives it. */
export function pythonStrip(text: string): string {
  const start = text.search(FIRST);
  if (start < 0) return "";
  let end = text.length;
  while (SPACE_ONLY.test(text[end - 1] as string)) end--;
  return text.slice(start, end);
}
