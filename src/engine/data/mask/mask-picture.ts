/** Masks that are stored as pictures. */

import type { DecodedPng } from "fast-png";
import { parseJson } from "../../bytes/json.ts";
import { turnAfter } from "../../bytes/pace.ts";
import { IS_POINTER, isPointer, viewOf } from "../../bytes/source.ts";
import { badInput, LabError } from "../../errors.ts";
import { readImageHeader, storedPlace } from "../image/image-header.ts";
import { isBase64Picture } from "../image/picture.ts";
import { decodePng, isPng } from "../image/png-decode.ts";
import { checkMaskSize, encodeRle, type Rle } from "./rle.ts";

// Splits the mask column of a row into one item per mask.

/** Height and width of the row's picture. */
export interface PictureSize {
  readonly height: number;
  readonly width: number;
}

/**
 * The masks of a row, not decoded: one for a struct, one per item for a list or a struct of lists. Null items stay in
 * place, so that indices of masks are stable. Undefined if the row has no mask.
 * @param size picture size, which distinguishes a list of bitmap rows from a list of flat bitmaps
 */
export function splitMasks(cell: unknown, size: PictureSize): unknown[] | undefined {
  if (cell === null || cell === undefined) return undefined;
  if (typeof cell === "string") return splitText(cell, size);
  if (Array.isArray(cell)) {
    const list = cell as unknown[];
    if (list.length === 0) return undefined;
    return isOneMask(list, size) ? [list] : list;
  }
  if (typeof cell !== "object") return [cell];
  const { counts, size: sizes } = cell as { counts?: unknown; size?: unknown };
  if ("counts" in cell && (counts === null || counts === undefined)) return undefined;
  const together = Array.isArray(counts) && Array.isArray(sizes) && (sizes as unknown[]).some(Array.isArray);
  if (!together) return [cell];
  return (counts as unknown[]).map((item, at) => ({ counts: item, size: (sizes as unknown[])[at] }));
}

/** Text: run lengths or polygons as JSON; other text stays one item, and reading it gives the error. */
function splitText(cell: string, size: PictureSize): unknown[] | undefined {
  const text = cell.trim();
  if (text === "" || text === "null") return undefined;
  if (isBase64Picture(text) || !/^[[{]/.test(text)) return [text];
  try {
    return splitMasks(parseJson(text, "the mask"), size);
  } catch {
    return [text];
  }
}

/**
 * Whether a list is one mask: numbers; rows of a bitmap or polygons of one object (lists of numbers); a bitmap whose
 * pixels are lists of one number. Flat bitmaps, deeper lists and other items are one mask each.
 */
function isOneMask(list: readonly unknown[], { height, width }: PictureSize): boolean {
  if (list.every(isNumber)) return true;
  if (list.every(isNumbers)) return list.some((row) => row.length !== height * width);
  return list.every((row) => Array.isArray(row) && row.length > 0 && row.every(isPixel));
}

/** A number of a list, or true or false; null for a missing one. */
export function isNumber(value: unknown): value is number | bigint | boolean | null {
  return value === null || typeof value === "number" || typeof value === "bigint" || typeof value === "boolean";
}

/** A list of numbers, which may be empty. */
export function isNumbers(value: unknown): value is (number | bigint | boolean | null)[] {
  return Array.isArray(value) && value.every(isNumber);
}

/** A pixel as a list of one number, as in pictures with one channel. */
export function isPixel(value: unknown): value is [number | bigint | boolean | null] {
  return isNumbers(value) && value.length === 1;
}

// Bitmaps as masks: recognises lists of numbers that are bitmaps, and their foreground.

/** Row-major numbers; true and false count as 1 and 0. */
interface Bitmap extends PictureSize {
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
const LEVELS = 32;
/** Share of a picture with too many colours for a label map that is not black, up to which the rest is a mask's outside. */
const MOST_SHOWN = 0.95;
/** Share of white from which greys are bright; below the rest to 1 they are dark. */
const BRIGHT = 0.9;

/** The numbers of a picture that are objects, ascending, without the background 0. */
interface LabelSet {
  readonly labels: readonly number[];
  /** The number of the pixels that belong to no object; undefined if there are none. */
  readonly void: number | undefined;
  /** Whether the numbers are many shades of one object, as in a soft mask, of which the upper half is foreground. */
  readonly isSoft: boolean;
}

/** Receives the labels of a picture or bitmap that is read as one mask. */
export type SeenLabels = (map: LabelMap) => void;

/**
 * The labels of a picture. The largest number of its depth (255 in 8 bits) beside other labels is void, as in PASCAL VOC,
 * unless the others are shades at the edge of a white object, which fill no area, or greys in even steps, the largest of
 * which is white. More than 32 greys up to white that fill no area are a soft mask.
 * @param top largest number of the depth; undefined if no number is void, as in colours
 * @param isGrey whether numbers are brightnesses, not entries of a palette
 * @returns undefined for more than 4096 labels or 256 colours
 */
function labelSet(
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
  const plain = { labels, void: undefined, isSoft: false };
  if (top === undefined || others === 0) return plain;
  const isThin = isGrey && FILLED * others > inside;
  if (isThin && labels.length > LEVELS && (labels.at(-1) as number) >= BRIGHT * top)
    return { labels: labels.slice(-1), void: undefined, isSoft: true };
  if (above === 0) return plain;
  if (isThin && 2 * (labels.at(-2) as number) > top) return { ...plain, labels: [top] };
  const isEven = labels.every((label, at) => Math.abs(label - (top * (at + 1)) / labels.length) <= 1);
  return isGrey && isEven ? plain : { ...plain, labels: labels.slice(0, -1), void: top };
}

/** How far resizing takes probabilities beyond 0 and 1. */
const OVERSHOOT = 0.25;

/**
 * A bitmap as RLE: values above 0 except void are foreground. Fractions between 0 and 1 are probabilities, and values from
 * 0.5 are foreground; with negative ones they are logits, and values above 0 are.
 * @throws LabError("bad-input") for other fractions, and for shades that are no soft mask
 */
export function bitmapRle({ values, height, width }: Bitmap, seen?: SeenLabels): Rle {
  const numbers = Float64Array.from(values as ArrayLike<unknown>, Number);
  const isWhole = numbers.every(Number.isInteger);
  const top = topOf(numbers);
  const found = isWhole ? labelSet(numbers, width, top, true) : undefined;
  if (found !== undefined) seen?.({ ...found, values: numbers, height, width, isColour: false });
  let half = 0;
  if (found?.isSoft === true) half = halfOf(numbers, top ?? 255);
  else if (!isWhole) half = thresholdOf(numbers);
  const pixels = new Uint8Array(numbers.length);
  for (let at = 0; at < pixels.length; at++) {
    const value = numbers[at] as number;
    pixels[at] = (half > 0 ? value >= half : value > 0 && value !== found?.void) ? 1 : 0;
  }
  return encodeRle(pixels, height, width);
}

/** The least foreground value of fractions; 0 for logits. */
function thresholdOf(numbers: Float64Array): number {
  let [low, high] = [0, 0];
  for (const value of numbers) {
    if (Number.isNaN(value)) throw badInput("the mask has values that are no numbers (NaN)");
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low < -OVERSHOOT) return 0;
  if (high <= 1 + OVERSHOOT) return 0.5;
  throw badInput(
    `the mask has fractions up to ${high.toPrecision(4)}, which are neither probabilities (0 to 1) nor logits (also below 0); write 0 and 1`,
  );
}

/**
 * The least foreground value of a soft mask.
 * @throws LabError("bad-input") if most pixels are neither dark nor bright, as in a photograph
 */
function halfOf(greys: ArrayLike<number>, top: number): number {
  let between = 0;
  for (let at = 0; at < greys.length; at++) {
    const share = (greys[at] as number) / top;
    if (share > 1 - BRIGHT && share < BRIGHT) between++;
  }
  if (2 * between <= greys.length) return top / 2;
  const share = Math.floor((100 * between) / greys.length);
  throw badInput(
    `the mask has many greys, and ${share} % of its pixels are neither dark nor bright, so it is a photograph or a map of values, not a mask`,
  );
}

/** The number that may be void in numbers of unknown depth. */
function topOf(numbers: ArrayLike<number>): number | undefined {
  let largest = 0;
  for (let at = 0; at < numbers.length; at++) largest = Math.max(largest, numbers[at] as number);
  return largest <= 255 ? 255 : largest === 65535 ? 65535 : undefined;
}

function isBinary(value: unknown): boolean {
  return value === null || typeof value === "boolean" || Number(value) === 0 || Number(value) === 1;
}

// Masks as TIFF, the format in which Pillow and `datasets` store palettes, 32-bit integers and floats.

/** Maximum entries of a directory, and maximum strips. */
const MAX_ENTRIES = 1000;
const MAX_STRIPS = 2 ** 16;

/** Whether bytes begin with a TIFF signature. */
function isTiff(bytes: Uint8Array): boolean {
  const head = String.fromCharCode(...bytes.subarray(0, 4));
  return head === "II*\u0000" || head === "MM\u0000*";
}

/**
 * Pixels of the first picture of an uncompressed TIFF with one number per pixel; palette entries are used as indices.
 * @throws LabError("bad-input") when it is damaged, "unsupported" for other kinds
 */
function readTiffMask(bytes: Uint8Array): Bitmap {
  try {
    return read(bytes);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw badInput("the mask's TIFF is damaged", undefined, thrown);
    throw thrown;
  }
}

/** Tags of the format. */
const [WIDTH, HEIGHT, BITS, PACKING, MEANING, STRIPS, CHANNELS, FORMAT] = [256, 257, 258, 259, 262, 273, 277, 339];
const [ROWS, TILES, ORIENTATION] = [278, 324, 274];

function read(bytes: Uint8Array): Bitmap {
  const view = viewOf(bytes);
  const little = bytes[0] === 0x49;
  const directory = view.getUint32(4, little);
  const entries = view.getUint16(directory, little);
  if (entries > MAX_ENTRIES) throw new RangeError("too many entries");
  const tags = new Map<number, number[]>();
  for (let entry = 0; entry < entries; entry++) {
    const at = directory + 2 + 12 * entry;
    const [tag, type, count] = [
      view.getUint16(at, little),
      view.getUint16(at + 2, little),
      view.getUint32(at + 4, little),
    ];
    // Short and long numbers; values that fit are stored in the entry.
    if ((type !== 3 && type !== 4) || count > MAX_STRIPS) continue;
    const size = type === 3 ? 2 : 4;
    const from = count * size <= 4 ? at + 8 : view.getUint32(at + 8, little);
    const number = (place: number): number =>
      type === 3 ? view.getUint16(place, little) : view.getUint32(place, little);
    const values = Array.from({ length: count }, (_, n) => number(from + n * size));
    tags.set(tag, values);
  }
  const one = (tag: number, missing: number): number => tags.get(tag)?.[0] ?? missing;
  const [height, width, bits] = [one(HEIGHT, 0), one(WIDTH, 0), one(BITS, 1)];
  checkMaskSize(height, width);
  const format = one(FORMAT, 1);
  if (
    one(PACKING, 1) !== 1 ||
    one(CHANNELS, 1) !== 1 ||
    ![1, 8, 16, 32].includes(bits) ||
    (format === 3 && bits !== 32) ||
    tags.has(TILES)
  ) {
    const kind = "is compressed, is stored in tiles or has several channels";
    throw new LabError("unsupported", `the mask's TIFF ${kind}; write it as PNG`);
  }
  const strips = tags.get(STRIPS) ?? [];
  const rows = Math.min(height, one(ROWS, height));
  const line = Math.ceil((width * bits) / 8);
  const white = one(MEANING, 1) === 0;
  const pixel = (start: number, x: number): number => {
    if (bits === 1) return (view.getUint8(start + (x >> 3)) >> (7 - (x & 7))) & 1;
    if (bits === 8) return view.getUint8(start + x);
    if (bits === 16) return view.getUint16(start + 2 * x, little);
    if (format === 3) return view.getFloat32(start + 4 * x, little);
    return format === 2 ? view.getInt32(start + 4 * x, little) : view.getUint32(start + 4 * x, little);
  };
  const values = new Float64Array(height * width);
  for (let y = 0; y < height; y++) {
    const strip = strips[Math.floor(y / rows)];
    if (strip === undefined) throw new RangeError("a strip is missing");
    const start = strip + (y % rows) * line;
    for (let x = 0; x < width; x++) {
      const value = pixel(start, x);
      // WhiteIsZero, as in fax images.
      values[y * width + x] = white ? (value === 0 ? 1 : 0) : value;
    }
  }
  return shown({ height, width, values }, one(ORIENTATION, 1));
}

/**
 * Mask of an encoded PNG of any depth and colour type, or of a plain TIFF. Foreground of a PNG is
 * - every opaque pixel, if transparency varies and the colours are only black and white;
 * - else every colour except black and void; without black, every palette entry except the first and void;
 * - for a soft mask, and colours with many levels, mostly the brightest (smoothed edges), the upper half.
 * EXIF turns it, as the library `datasets` does.
 * @throws LabError("bad-input") when it is damaged, "unsupported" for other formats
 */
export async function readMaskPicture(bytes: Uint8Array, seen?: SeenLabels): Promise<Rle> {
  if (isTiff(bytes)) return bitmapRle(readTiffMask(bytes), seen);
  if (isPointer(bytes)) throw badInput(`the mask ${IS_POINTER}`);
  if (!isPng(bytes)) {
    throw new LabError(
      "unsupported",
      "the mask is a picture that is neither PNG nor TIFF; only these store a mask without loss",
    );
  }
  const png = decodePng(bytes, "mask's");
  const { orientation } = await readImageHeader({
    length: bytes.length,
    read: async (...range) => bytes.slice(...range),
  });
  // A large picture takes a second or two, so that a cancellation must arrive between the parts.
  const turn = (): Promise<void> => turnAfter(png.width * png.height);
  await turn();
  const stored = { ...colours(png), height: png.height, width: png.width };
  await turn();
  const found = shown(stored, orientation);
  await turn();
  const labels = labelled(found);
  await turn();
  const pixels = foreground(found, labels, seen);
  await turn();
  return encodeRle(pixels, found.height, found.width);
}

/** A picture as its EXIF orientation (1..8) turns it, like the pictures that `datasets` decodes. */
function shown<T extends Partial<Record<"value" | "visible" | "entry" | "values", unknown>> & PictureSize>(
  picture: T,
  orientation: number,
): T {
  if (orientation === 1) return picture;
  const { width, height } = picture;
  const size = orientation >= 5 ? { width: height, height: width } : { width, height };
  const place = (x: number, y: number): number => {
    const [left, above] = storedPlace(x, y, width, height, orientation);
    return above * width + left;
  };
  const first = place(0, 0);
  const [right, down] = [place(1, 0) - first, place(0, 1) - first];
  const turned = (pixels: Uint8Array | Uint32Array | Float64Array): unknown => {
    const out = pixels.slice();
    for (let y = 0, at = 0; y < size.height; y++) {
      for (let x = 0, from = first + y * down; x < size.width; x++, from += right) out[at++] = pixels[from] as number;
    }
    return out;
  };
  const pixels = Object.entries(picture).map(([name, one]) => [
    name,
    ArrayBuffer.isView(one) ? turned(one as Uint8Array) : one,
  ]);
  return { ...(Object.fromEntries(pixels) as T), ...size };
}

/** The labels of a picture: palette entries, greys (also as three equal channels) or colours; 0 where it is transparent. */
export interface LabelMap extends LabelSet, PictureSize {
  readonly values: ArrayLike<number>;
  /** Whether the labels are colours, which have no order. */
  readonly isColour: boolean;
}

/** Undefined for more labels than a label map has. */
function labelled({ value, visible, top, entry, isGrey, height, width }: Colours & PictureSize): LabelMap | undefined {
  const isFlat = !isGrey && entry === undefined && value.every((one) => (one & 255) * 0x010101 === one);
  const plain = entry ?? (isFlat ? value.map((one) => one & 255) : value);
  const values = plain.map((label, at) => (visible[at] === 0 ? 0 : label));
  // Numbers up to 255 that are stored in 16 bits have the void of 8 bits.
  const deepest =
    entry !== undefined || isFlat ? 255 : !isGrey || top < 255 ? undefined : top > 255 ? topOf(values) : top;
  const set = labelSet(values, width, deepest, entry === undefined);
  const isColour = !isGrey && entry === undefined && !isFlat;
  return set === undefined ? undefined : { ...set, values, height, width, isColour };
}

/**
 * The label of each pixel: its palette entry, grey or colour (red, green, blue from the upper byte on); 0 if
 * transparent.
 */
export function labelsOf(png: DecodedPng): ArrayLike<number> {
  const { value, visible, entry } = colours(png);
  return (entry === undefined ? value : Uint32Array.from(entry)).map((label, at) => (visible[at] === 0 ? 0 : label));
}

/** Each pixel as one grey or colour number (0 is black) and its visibility; `top` is the largest grey. */
interface Colours {
  readonly value: Uint32Array;
  readonly visible: Uint8Array;
  readonly top: number;
  /** Palette entry of each pixel, in pictures with a palette. */
  readonly entry: Uint8Array | undefined;
  readonly isGrey: boolean;
}

function foreground({ value, visible, top, entry }: Colours, labels?: LabelMap, report?: SeenLabels): Uint8Array {
  const seen = new Set<number>();
  let [hidden, shown, white] = [0, 0, 0];
  for (let at = 0; at < value.length; at++) {
    const one = value[at] as number;
    if (visible[at] === 0) {
      hidden++;
      continue;
    }
    shown += one === 0 ? 0 : 1;
    white += one === top || one === 0xffffff ? 1 : 0;
    if (seen.size <= LEVELS) seen.add(one);
  }
  // A cut-out: the visible pixels are the mask, unless they are black and one other colour.
  if (hidden > 0 && hidden < value.length && !(seen.size === 2 && seen.has(0))) {
    if (labels?.isColour === false) report?.(labels);
    return visible;
  }
  if (labels?.isSoft === true) {
    const half = halfOf(labels.values, top > 255 && labels.values.length > 0 ? (topOf(labels.values) ?? top) : 255);
    report?.(labels);
    const pixels = new Uint8Array(value.length);
    for (let at = 0; at < pixels.length; at++) pixels[at] = (labels.values[at] as number) >= half ? 1 : 0;
    return pixels;
  }
  // Colours at the edge of a white object.
  const smooth = seen.size > LEVELS && entry === undefined && 2 * white > shown;
  const black = seen.has(0);
  if (labels === undefined && !smooth && shown > MOST_SHOWN * value.length) {
    throw badInput("the mask has hundreds of colours and no black around an object, so it is a photograph, not a mask");
  }
  if (!smooth && labels !== undefined) report?.(labels);
  const pixels = new Uint8Array(value.length);
  const drawn = black || entry === undefined ? value : entry;
  for (let at = 0; at < pixels.length; at++) {
    if (visible[at] === 0 || (labels?.void !== undefined && labels.values[at] === labels.void)) continue;
    const isIn = smooth ? brightness(value[at] as number, top) >= 0.5 : drawn[at] !== 0;
    pixels[at] = isIn ? 1 : 0;
  }
  return pixels;
}

/** Brightness 0..1 of a grey, or of the brightest part of a colour. */
function brightness(value: number, top: number): number {
  return top > 255 ? value / top : Math.max(value >> 16, (value >> 8) & 255, value & 255) / 255;
}

function colours(png: DecodedPng): Colours {
  const { width, height, depth, channels, palette, transparency } = png;
  const pixels = width * height;
  const data = unpacked(png);
  const [value, visible] = [new Uint32Array(pixels), new Uint8Array(pixels).fill(1)];
  if (palette !== undefined) {
    for (let at = 0; at < pixels; at++) {
      const [r = 0, g = 0, b = 0, a = 255] = palette[data[at] as number] ?? [];
      value[at] = (r << 16) | (g << 8) | b;
      visible[at] = a >= 128 ? 1 : 0;
    }
    return { value, visible, top: 255, entry: Uint8Array.from(data), isGrey: false };
  }
  const top = 2 ** depth - 1;
  const grey = channels < 3;
  // 16-bit colours keep their upper byte and a bit that marks non-black.
  const level = (at: number): number => (depth === 16 ? Math.ceil((data[at] as number) / 257) : (data[at] as number));
  const hidden = transparency !== undefined && transparency.length >= channels ? transparency : undefined;
  for (let at = 0, from = 0; at < pixels; at++, from += channels) {
    value[at] = grey ? (data[from] as number) : (level(from) << 16) | (level(from + 1) << 8) | level(from + 2);
    if (channels % 2 === 0) visible[at] = (data[from + channels - 1] as number) * 2 > top ? 1 : 0;
    else if (hidden !== undefined) {
      visible[at] = Array.from({ length: channels }, (_, c) => data[from + c] === hidden[c]).every(Boolean) ? 0 : 1;
    }
  }
  return { value, visible, top: grey ? top : 255, entry: undefined, isGrey: grey };
}

/** One number per channel: greys and palette entries of 1, 2 or 4 bits come packed, each row beginning at a byte. */
export function unpacked({ width, height, depth, data }: DecodedPng): ArrayLike<number> {
  const perByte = 8 / depth;
  const rowBytes = Math.ceil(width / perByte);
  if (depth >= 8 || data.length !== rowBytes * height) return data;
  return Uint8Array.from({ length: width * height }, (_, at) => {
    const x = at % width;
    const byte = data[Math.floor(at / width) * rowBytes + Math.floor(x / perByte)] as number;
    return (byte >> (8 - depth * ((x % perByte) + 1))) & (2 ** depth - 1);
  });
}
