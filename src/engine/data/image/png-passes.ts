/** Interlaced PNG with less than 8 bits per pixel, which the PNG library does not read. */

/** First column and row of each pass, and the steps to the next (Adam7). */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/**
 * Converts the seven passes to rows of a non-interlaced picture, each after a filter byte of 0.
 * @param raw unpacked rows of all passes, each after its filter byte
 * @param depth bits per pixel: 1, 2 or 4
 * @throws RangeError when there are fewer rows, or an unknown filter
 */
export function joinPasses(raw: Uint8Array, width: number, height: number, depth: number): Uint8Array {
  const line = 1 + Math.ceil((width * depth) / 8);
  const rows = new Uint8Array(height * line);
  const shift = (x: number): number => 8 - depth - ((x * depth) & 7);
  let at = 0;
  for (const [left, top, across, down] of PASSES) {
    const bytes = Math.ceil((Math.ceil((width - left) / across) * depth) / 8);
    if (bytes <= 0) continue;
    let above: Uint8Array = new Uint8Array(bytes);
    for (let y = top; y < height; y += down) {
      if (at + 1 + bytes > raw.length) throw new RangeError("a pass is cut off");
      const row = raw.slice(at + 1, at + 1 + bytes);
      unfilter(raw[at] as number, row, above);
      for (let x = left, n = 0; x < width; x += across, n++) {
        const value = ((row[(n * depth) >> 3] as number) >> shift(n)) & (2 ** depth - 1);
        const place = y * line + 1 + ((x * depth) >> 3);
        rows[place] = (rows[place] as number) | (value << shift(x));
      }
      above = row;
      at += 1 + bytes;
    }
  }
  return rows;
}

/** Restores a row in place; a pixel of less than a byte is predicted from the byte before it. */
function unfilter(filter: number, row: Uint8Array, above: Uint8Array): void {
  if (filter > 4) throw new RangeError(`filter ${filter} does not exist`);
  for (let at = 0, a = 0, c = 0; at < row.length; at++) {
    const b = above[at] as number;
    row[at] = (row[at] as number) + ([0, a, b, (a + b) >> 1, paeth(a, b, c)][filter] as number);
    [a, c] = [row[at] as number, b];
  }
}

function paeth(a: number, b: number, c: number): number {
  const [toA, toB, toC] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  if (toA <= toB && toA <= toC) return a;
  return toB <= toC ? b : c;
}
