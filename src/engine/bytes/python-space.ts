/**
 * White space as Python defines it. JavaScript's `\s` and `trim` lack U+001C–001F and U+0085 and include U+FEFF, so
 * they would split such texts differently from the programs that our numbers are compared with.
 */
const SPACE = "\\u0009-\\u000d\\u001c-\\u0020\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const GAP = new RegExp(`[${SPACE}]+`, "u");
const FIRST = new RegExp(`[^${SPACE}]`, "u");
const SPACE_ONLY = new RegExp(`^[${SPACE}]$`, "u");

/** The words of a text, as Python's `split()` gives them. */
export function pythonWords(text: string): string[] {
  return text.split(GAP).filter((word) => word !== "");
}

/** A text without white space at its ends, as Python's `strip()` gives it. */
export function pythonStrip(text: string): string {
  const start = text.search(FIRST);
  if (start < 0) return "";
  let end = text.length;
  while (SPACE_ONLY.test(text[end - 1] as string)) end--;
  return text.slice(start, end);
}
