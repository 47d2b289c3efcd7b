/** Texts of files whose encoding is not stated. */

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
