/** Bitmaps as masks: recognises lists of numbers that are bitmaps, and their foreground. */
import { isNumbers, type PictureSize } from "./mask-items.ts";
import { encodeRle, type Rle } from "./rle.ts";

/** Row-major numbers; true and false count as 1 and 0. */
export interface Bitmap extends PictureSize {
  readonly values: ArrayLike<number | bigint | boolean | null>;
}

/**
 * Rows of numbers as a bitmap: rows of the picture's size, rows of equal length with only 0 and 1, or several rows of
 * the picture's width (a bitmap of another height). Undefined for other lists, such as polygons.
 */
export function bitmapOf(rows: readonly unknown[], { height, width }: PictureSize): Bitmap | undefined {
  const [first] = rows;
  if (!isNumbers(first) || first.length === 0) return undefined;
  const columns = first.length;
  if (!rows.every((row) => isNumbers(row) && row.length === columns)) return undefined;
  const lines = rows as readonly (number | bigint | boolean | null)[][];
  const fits = (lines.length === height && columns === width) || (lines.length === width && columns === height);
  const wide = columns === width && lines.length > 1;
  if (!fits && !wide && !lines.every((line) => line.every(isBinary))) return undefined;
  return { height: lines.length, width: columns, values: lines.flat() };
}

/**
 * A bitmap as RLE: values above 0 are foreground. If all values are in 0..1 and some strictly between, they are
 * probabilities, and values from 0.5 are foreground.
 */
export function bitmapRle({ values, height, width }: Bitmap): Rle {
  const numbers = Float64Array.from(values as ArrayLike<unknown>, Number);
  const soft = numbers.some((value) => !Number.isInteger(value)) && numbers.every((value) => value >= 0 && value <= 1);
  const pixels = new Uint8Array(numbers.length);
  for (const [at, value] of numbers.entries()) pixels[at] = (soft ? value >= 0.5 : value > 0) ? 1 : 0;
  return encodeRle(pixels, height, width);
}

function isBinary(value: unknown): boolean {
  return value === null || typeof value === "boolean" || Number(value) === 0 || Number(value) === 1;
}
