import { parseJson } from "../../bytes/json.ts";
import { badInput, LabError, quote } from "../../errors.ts";
import { isBase64Picture, pictureBytes } from "../image/picture.ts";
import type { FindFile } from "../siblings.ts";
import { isBinaryCell, type ReadMeter } from "../tables/table.ts";
import {
  bitmapOf,
  bitmapRle,
  isNumber,
  isNumbers,
  isPixel,
  type PictureSize,
  readMaskPicture,
  type SeenLabels,
} from "./mask-picture.ts";
import { parseRle, type Rle, rleFromPolygons } from "./rle.ts";

/** A mask that the reader of its file draws, once the size of the row's picture is known. */
export interface PaintedMask {
  paint(size: MaskContext): Rle;
}

function isPainted(item: object): item is PaintedMask {
  return "paint" in item && typeof item.paint === "function";
}

/** Context for reading a mask. */
export interface MaskContext extends PictureSize {
  readonly find: FindFile;
  /** Counts the work of drawing polygons against the limit of a pass over the file. */
  readonly meter?: ReadMeter | undefined;
  /** Height and width that the file states for its polygons, which are otherwise drawn at the picture's size. */
  readonly stated?: readonly [height: number, width: number];
  /**
   * Whether polygons inside the first pixel are fractions of the picture, which the data set decides; without it they
   * are in pixels, as COCO's are.
   */
  readonly fractions?: (() => Promise<boolean>) | undefined;
  /** Called with the labels of a picture or bitmap, all of which become one mask. */
  readonly seen?: SeenLabels;
}

/** Largest coordinate of a polygon in fractions; those of objects at the edge may exceed 1. */
export const MOST_FRACTION = 1.5;

/**
 * One mask as RLE: `{counts, size}` in every form parseRle takes, a bitmap (rows of numbers, flat numbers, raw bytes),
 * an encoded picture of the mask, polygons drawn at the picture's size, or `{polygons, size}` drawn at that size; any of
 * these as JSON text; or what a reader paints. An error in place of a mask is thrown.
 * @throws LabError("bad-input") with one sentence
 */
export async function readMask(item: unknown, context: MaskContext): Promise<Rle> {
  const { height, width, find, seen } = context;
  if (item === null || item === undefined) throw badInput("the mask is null");
  if (isBinaryCell(item)) return readBytes(await item.read(), context);
  if (typeof item === "string") {
    if (isBase64Picture(item)) return readMaskPicture(await whole(item, find), seen);
    // Compressed counts without a size are a mask of the picture's size. Paths contain characters that counts do not.
    if (/^[0-o]+$/.test(item)) return parseRle({ counts: item, size: [height, width] });
    if (/^\s*[[{]/.test(item)) return readMask(parseJson(item, "the mask"), context);
    return readMaskPicture(await whole(item, find), seen);
  }
  if (Array.isArray(item)) return readList(item as unknown[], context);
  if (typeof item !== "object") throw badInput(`the mask is ${quote(item)}`);
  if (item instanceof LabError) throw item;
  if (isPainted(item)) return item.paint(context);
  const { counts, size, bytes, path, polygons } = item as Readonly<Record<string, unknown>>;
  if (counts !== undefined) {
    const plain = isBinaryCell(counts) ? await counts.read() : counts;
    return parseRle({ counts: plain, size: size ?? [height, width] });
  }
  if (bytes !== undefined || path !== undefined) return readMaskPicture(await whole(item, find), seen);
  if (Array.isArray(polygons) && isNumbers(size) && size.length === 2) {
    // Never a bitmap, even if each polygon has as many numbers as the picture is wide.
    const known: MaskContext = { ...context, stated: [Number(size[0]), Number(size[1])] };
    return isNumbers(polygons) ? readList(polygons, known) : await drawn(polygons, known);
  }
  throw badInput("the mask is a struct with neither counts nor bytes");
}

async function whole(cell: unknown, find: FindFile): Promise<Uint8Array> {
  const picture = pictureBytes(cell, find, "mask");
  return picture.read(0, picture.length);
}

/** First bytes of supported mask pictures. */
const MAGICS = [
  [0x89, 0x50, 0x4e, 0x47],
  [0xff, 0xd8, 0xff],
  [0x47, 0x49, 0x46, 0x38],
  [0x52, 0x49, 0x46, 0x46],
  [0x49, 0x49, 0x2a, 0x00],
  [0x4d, 0x4d, 0x00, 0x2a],
];

function isEncoded(values: ArrayLike<unknown>): boolean {
  return MAGICS.some((magic) => magic.every((byte, at) => Number(values[at]) === byte));
}

function readBytes(bytes: Uint8Array, { height, width, seen }: MaskContext): Promise<Rle> | Rle {
  if (isEncoded(bytes)) return readMaskPicture(bytes, seen);
  if (bytes.length === height * width) return bitmapRle({ height, width, values: bytes }, seen);
  throw badInput(
    `the mask is ${bytes.length} bytes, neither an encoded picture nor a byte for each of ${width} x ${height} pixels`,
  );
}

function readList(list: readonly unknown[], context: MaskContext): Promise<Rle> | Rle {
  const { height, width, seen } = context;
  if (list.length === 0) throw badInput("the mask is an empty list");
  if (isNumbers(list)) {
    if (list.length === height * width) return bitmapRle({ height, width, values: list }, seen);
    if (isEncoded(list)) return whole(list, context.find).then((bytes) => readMaskPicture(bytes, seen));
    if (list.length >= 6 && list.length % 2 === 0) return drawn([list], context);
    throw badInput(`the mask is a list of ${list.length} numbers, not one for each of ${width} x ${height} pixels`);
  }
  // A leading channel, as in masks of N x 1 x height x width.
  const [plane] = list;
  const isPlane =
    Array.isArray(plane) && plane.length === height && plane.every((row) => isNumbers(row) && row.length === width);
  if (list.length === 1 && isPlane) return readList(plane, context);
  const rows = list.every((row) => Array.isArray(row) && row.length > 0 && row.every(isPixel))
    ? (list as unknown[][]).map((row) => row.flat())
    : list;
  const bitmap = bitmapOf(rows, context);
  if (bitmap !== undefined) return bitmapRle(bitmap, seen);
  return drawn(rows, context);
}

/** Minimum number of points of which most repeat the one before, and of numbers of which only two differ. */
const FEW_POINTS = 8;
const FEW_NUMBERS = 12;

/**
 * Refuses numbers that are pixels, not corners of polygons: a bitmap of another size than the picture's.
 * @throws LabError("bad-input") with its size
 */
function refuseBitmap(parts: readonly (readonly number[])[], { height, width }: PictureSize): void {
  let [points, repeated] = [0, 0];
  for (const part of parts) {
    for (let at = 2; at + 1 < part.length; at += 2) {
      points++;
      if (part[at] === part[at - 2] && part[at + 1] === part[at - 1]) repeated++;
    }
  }
  const isFlat = parts.some((part) => part.length >= FEW_NUMBERS && new Set(part).size <= 2);
  if (!isFlat && (points < FEW_POINTS || 2 * repeated <= points)) return;
  const columns = parts[0]?.length ?? 0;
  const size = parts.length === 1 ? `${columns} numbers` : `${parts.length} rows of ${columns} numbers`;
  throw badInput(`the mask is a bitmap of ${size}, which does not fit the picture of ${width} x ${height} pixels`);
}

/** Polygons as flat coordinates, or as lists of points. */
async function drawn(parts: readonly unknown[], context: MaskContext): Promise<Rle> {
  const { height, width, meter, stated } = context;
  const points = (value: unknown): boolean =>
    Array.isArray(value) && value.every((point) => isNumbers(point) && point.length === 2);
  const flat = (points(parts) && parts.length > 2 ? [parts] : parts).map((part) =>
    points(part) ? (part as unknown[]).flat() : part,
  );
  const numbers = flat.map((part) => {
    if (!Array.isArray(part) || !part.every((value) => isNumber(value) && value !== null)) {
      throw badInput("the mask is neither run lengths, a bitmap, polygons nor a picture");
    }
    return part.map(Number);
  });
  refuseBitmap(numbers, context);
  const small = numbers.every((part) => part.every((value) => Math.abs(value) <= MOST_FRACTION));
  const fractions = small && (await context.fractions?.()) === true;
  // Fractions fit a picture of any size, but the stated size shows whether it is rotated.
  const turned = stated?.[0] === width && stated[1] === height;
  const [tall, wide] = stated === undefined || (fractions && !turned) ? [height, width] : stated;
  const scaled = fractions
    ? numbers.map((part) => part.map((value, at) => value * (at % 2 === 0 ? wide : tall)))
    : numbers;
  return rleFromPolygons(scaled, tall, wide, meter);
}
