/** Texts of files whose encoding is not stated. */
import { markUnseen } from "../errors.ts";

/**
 * Characters of the bytes 0x80 to 0x9F in Windows-1252; other bytes equal their code points. Runtimes differ in how
 * they decode this encoding.
 */
const WINDOWS_1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

/** A text in UTF-8; undefined for bytes in another encoding. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // The caller decides which encoding it is.
    return undefined;
  }
}

/** One character per byte, in pieces because a call takes a limited number of arguments. */
export function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 4096) text += String.fromCharCode(...bytes.subarray(at, at + 4096));
  return text;
}

/** Whether bytes begin with the byte order mark of UTF-16, of either order. */
export function isUtf16([a, b]: Uint8Array): boolean {
  return (a === 0xff && b === 0xfe) || (a === 0xfe && b === 0xff);
}

/**
 * A text in UTF-8, in UTF-16 with a byte order mark, or else with one byte per character.
 * @param upper characters from 0x80 on; bytes beyond them are code points
 */
export function storedText(bytes: Uint8Array, upper: string = WINDOWS_1252): string {
  if (isUtf16(bytes)) return new TextDecoder(bytes[0] === 0xff ? "utf-16le" : "utf-16be").decode(bytes);
  return utf8Text(bytes) ?? Array.from(bytes, (byte) => upper[byte - 0x80] ?? String.fromCharCode(byte)).join("");
}

/** Bytes as text in base64. */
export function base64(bytes: Uint8Array): string {
  return btoa(latin1(bytes));
}

// Decimal numbers in text.

const DECIMAL = /^\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*$/i;

/** The decimal number in a text; NaN for other texts, including "0x10" and "", which JavaScript converts. */
export function decimal(text: string): number {
  return DECIMAL.test(text) ? Number(text) : Number.NaN;
}

/** Text as the content or a quoted attribute of HTML or SVG. */
export function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}

// Readable and unique file names.

/** Makes names unique: the second `a.arrow` becomes `a-2.arrow`, the second `train` becomes `train-2`. */
export function distinctNames(): (wanted: string) => string {
  const given = new Set<string>();
  return (wanted) => {
    const name = markUnseen(wanted);
    // The extension starts at the last dot of the last part, unless the part begins with it.
    const dot = name.lastIndexOf(".");
    const cut = dot > name.lastIndexOf("/") + 1 ? dot : name.length;
    let distinct = name;
    for (let n = 2; given.has(distinct); n++) distinct = `${name.slice(0, cut)}-${n}${name.slice(cut)}`;
    given.add(distinct);
    return distinct;
  };
}

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
