/** Texts in the form that Python 2 writes in pickles of protocol 0. */

const SIMPLE: Readonly<Record<string, string>> = {
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** A byte string literal with its escapes, one character per byte; undefined for other text. */
export function pythonString(literal: string): string | undefined {
  const text = literal.trim();
  const quote = text[0];
  if ((quote !== "'" && quote !== '"') || text.length < 2 || text.at(-1) !== quote) return undefined;
  const body = text.slice(1, -1);
  let damaged = false;
  const value = body.replace(/\\(x[0-9a-fA-F]{2}|[0-7]{1,3}|[\s\S]|$)/g, (_, mark: string) => {
    if (/^x../.test(mark)) return String.fromCharCode(Number.parseInt(mark.slice(1), 16));
    if (/^[0-7]/.test(mark)) return String.fromCharCode(Number.parseInt(mark, 8) & 255);
    const simple = SIMPLE[mark];
    if (simple === undefined && (mark === "x" || mark === "")) damaged = true;
    return simple ?? `\\${mark}`;
  });
  return damaged ? undefined : value;
}

/** A raw-unicode-escape text: Latin-1 with \uXXXX and \UXXXXXXXX, which count only after an odd number of backslashes. */
export function rawUnicode(line: string): string {
  return line.replace(/(\\+)(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/g, (whole, slashes: string, mark: string) => {
    if (slashes.length % 2 === 0) return whole;
    const code = Number.parseInt(mark.slice(1), 16);
    return code > 0x10ffff ? whole : slashes.slice(1) + String.fromCodePoint(code);
  });
}
