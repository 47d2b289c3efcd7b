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

/** Share of pixels inside an area (like the pixels left and above) from which numbers are labels, not shades. */
const FILLED = 0.1;
/** Maximum number of labels, and of colours as labels; a picture with more is not a label map. */
export const MOST_LABELS = 4096;
const MOST_COLOURS = 256;
/** Grey levels from which values are shades of an edge, not labels. */
export const LEVELS = 32;

/** The numbers of a picture that are objects, ascending, without the background 0. */
export interface LabelSet {
  readonly labels: readonly number[];
  /** The number of the pixels that belong to no object; undefined if there are none. */
  readonly void: number | undefined;
}

/** Receives the labels of a picture that is read as one mask. */
export type SeenLabels = (labels: readonly number[]) => void;

/**
 * The labels of a picture. The largest number of its depth (255 in 8 bits) beside other labels is void, as in PASCAL VOC,
 * unless the others are shades at the edge of a white object, which fill no area, or greys in even steps, the largest of
 * which is white.
 * @param top largest number of the depth; undefined if no number is void, as in colours
 * @param isGrey whether numbers are brightnesses, not entries of a palette
 * @returns undefined for more than 4096 labels or 256 colours
 */
export function labelSet(
  values: ArrayLike<number>,
  width: number,
  top: number | undefined,
  isGrey: boolean,
): LabelSet | undefined {
  const found = new Set<number>();
  let [before, above, others, inside] = [0, 0, 0, 0];
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number;
    if (value <= 0) continue;
    if (value === top) above++;
    else {
      others++;
      if (value === values[at - 1] && value === values[at - width]) inside++;
    }
    if (value === before) continue;
    before = value;
    if (found.add(value).size > MOST_LABELS) return undefined;
  }
  const labels = [...found].sort((a, b) => a - b);
  if ((labels.at(-1) ?? 0) > 0xffff && labels.length > MOST_COLOURS) return undefined;
  if (top === undefined || above === 0 || others === 0) return { labels, void: undefined };
  const bright = labels.at(-2) as number;
  const isShaded = isGrey && (2 * bright > top || labels.length > LEVELS) && FILLED * others > inside;
  if (isShaded) return { labels: [top], void: undefined };
  const isEven = labels.every((label, at) => Math.abs(label - (top * (at + 1)) / labels.length) <= 1);
  return isGrey && isEven ? { labels, void: undefined } : { labels: labels.slice(0, -1), void: top };
}

/**
 * A bitmap as RLE: values above 0 except void are foreground. If all values are in 0..1 and some strictly between, they
 * are probabilities, and values from 0.5 are foreground.
 */
export function bitmapRle({ values, height, width }: Bitmap, seen?: SeenLabels): Rle {
  const numbers = Float64Array.from(values as ArrayLike<unknown>, Number);
  const isWhole = numbers.every(Number.isInteger);
  const soft = !isWhole && numbers.every((value) => value >= 0 && value <= 1);
  const found = isWhole ? labelSet(numbers, width, topOf(numbers), true) : undefined;
  if (found !== undefined) seen?.(found.labels);
  const pixels = new Uint8Array(numbers.length);
  for (const [at, value] of numbers.entries()) {
    pixels[at] = (soft ? value >= 0.5 : value > 0 && value !== found?.void) ? 1 : 0;
  }
  return encodeRle(pixels, height, width);
}

/** The number that may be void in numbers of unknown depth. */
export function topOf(numbers: ArrayLike<number>): number | undefined {
  let largest = 0;
  for (let at = 0; at < numbers.length; at++) largest = Math.max(largest, numbers[at] as number);
  return largest <= 255 ? 255 : largest === 65535 ? 65535 : undefined;
}

function isBinary(value: unknown): boolean {
  return value === null || typeof value === "boolean" || Number(value) === 0 || Number(value) === 1;
}
