/** Reads one mask in any supported form as run lengths. */

import { addTo } from "../../bytes/collections.ts";
import { isRecord, parseJson } from "../../bytes/json.ts";
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
import { checkMaskSize, encodeRle, parseRle, type Rle, rleFromPolygons } from "./rle.ts";

// Shapes of ReasonSeg as masks, painted like LISA: pixels of the outline and the inside, corners at whole numbers,
// as in OpenCV's fillPoly; COCO's polygon rules give other pixels
// (docs/spec/evaluation.md#17-reasonseg-lisa-reasonseg).

type Point = readonly [x: number, y: number];

/** Maximum number of shapes times pixels, far above any picture of the data set. */
const MAX_WORK = 2 ** 31;
/** Largest coordinate, so that products of two are exact in a double. */
const MAX_COORDINATE = 2 ** 20;
/** Units per pixel for positions along an edge. */
const ONE = 2 ** 16;

/**
 * Paints shapes from large to small, each over the previous ones, and returns the pixels of one kind. Labels with
 * "ignore" do not count, "flag" is left out, every other label is the target.
 * @throws LabError("bad-input") when a shape has no points, impossible points, or more points than its picture can need
 */
export function paintedRle(
  shapes: unknown,
  part: "target" | "ignore",
  { height, width, meter }: { readonly height: number; readonly width: number; readonly meter?: ReadMeter | undefined },
): Rle {
  checkMaskSize(height, width);
  if (!Array.isArray(shapes)) throw badInput("the shapes of the mask are not a list");
  if (shapes.length * height * width > MAX_WORK) {
    throw badInput(`the mask has ${shapes.length} shapes, too many for ${width} x ${height} pixels`);
  }
  meter?.take(2 * shapes.length * height * width);
  const found = (shapes as unknown[]).flatMap((shape) => {
    const label = isRecord(shape) && typeof shape.label === "string" ? shape.label.toLowerCase() : "";
    if (label === "flag") return [];
    const points = pointsOf(shape);
    const pixels = new Uint8Array(height * width);
    fillPolygon({ pixels, height, width, value: 1 }, points);
    const area = pixels.reduce((sum, pixel) => sum + pixel, 0);
    return [{ points, area, value: Number(label.includes("ignore") === (part === "ignore")) }];
  });
  // Among shapes of equal size, the last one is painted first.
  found.reverse().sort((a, b) => b.area - a.area);
  const pixels = new Uint8Array(height * width);
  for (const { points, value } of found) fillPolygon({ pixels, height, width, value }, points);
  return encodeRle(pixels, height, width);
}

/** The corners of a shape, cut to whole numbers. */
function pointsOf(shape: unknown): Point[] {
  const points: unknown[] = isRecord(shape) && Array.isArray(shape.points) ? (shape.points as unknown[]) : [];
  if (points.length === 0) throw badInput("a shape of the mask has no points");
  return points.map((point) => {
    const [x, y]: unknown[] = Array.isArray(point) ? (point as unknown[]) : [];
    if (typeof x === "number" && typeof y === "number" && Math.max(Math.abs(x), Math.abs(y)) < MAX_COORDINATE) {
      return [Math.trunc(x), Math.trunc(y)];
    }
    throw badInput(`a shape of the mask has the impossible point ${JSON.stringify(point)}`);
  });
}

/** An edge that crosses the rows [top, bottom): x at `top` and its increase per row, in units of 1 / ONE pixel. */
interface Edge {
  readonly top: number;
  readonly bottom: number;
  readonly x: number;
  readonly step: number;
}

interface Canvas {
  readonly pixels: Uint8Array;
  readonly height: number;
  readonly width: number;
  readonly value: number;
}

/** Sets the pixels of a closed polygon, including its outline. */
function fillPolygon(canvas: Canvas, points: readonly Point[]): void {
  const { pixels, height, width, value } = canvas;
  const edges: Edge[] = [];
  for (const [at, to] of points.entries()) {
    const from = points.at(at - 1) as Point;
    const line = clippedLine(from, to, height, width);
    if (line.visible) drawLine(canvas, line);
    if (from[1] === to[1]) continue;
    // An edge that leaves the picture runs between its clipped ends; if these are level, it keeps its original rows.
    const [ax, bx] = [line.from[0] * ONE, line.to[0] * ONE];
    const [ay, by] = line.from[1] === line.to[1] ? [from[1], to[1]] : [line.from[1], line.to[1]];
    const step = Math.trunc((bx - ax) / (by - ay));
    const [top, bottom] = [Math.min(from[1], to[1]), Math.max(from[1], to[1])];
    const [x, y] = from[1] < to[1] ? [ax, ay] : [bx, by];
    edges.push({ top, bottom, x: x + (top - y) * step, step });
  }
  const crossings = rowCrossings(edges, height, width);
  for (const [y, row] of crossings) {
    row.sort((a, b) => a - b);
    for (let at = 0; at + 1 < row.length; at += 2) {
      const from = Math.max(0, Math.ceil((row[at] as number) / ONE));
      const to = Math.min(width - 1, Math.floor((row[at + 1] as number) / ONE));
      if (from <= to) pixels.fill(value, y * width + from, y * width + to + 1);
    }
  }
}

/**
 * Crossings of the edges with each row of the picture.
 * @throws LabError("bad-input") when there are too many
 */
function rowCrossings(edges: readonly Edge[], height: number, width: number): Map<number, number[]> {
  const rows = new Map<number, number[]>();
  let left = 2 ** 16 + 2 * height * width + 4 * edges.length;
  for (const { top, bottom, x, step } of edges) {
    for (let y = Math.max(0, top); y < Math.min(bottom, height); y++) {
      if (left-- === 0) throw badInput("the outline of a shape crosses the rows of the picture too often");
      addTo(rows, y, x + (y - top) * step);
    }
  }
  return rows;
}

interface Line {
  readonly from: Point;
  readonly to: Point;
  readonly visible: boolean;
}

/** The part of a line inside the picture; for a line outside, its ends as far as they were moved. */
function clippedLine(from: Point, to: Point, height: number, width: number): Line {
  let [[x1, y1], [x2, y2]] = [from, to];
  const [right, bottom] = [width - 1, height - 1];
  const across = (x: number): number => (x < 0 ? 1 : x > right ? 2 : 0);
  const sides = (x: number, y: number): number => across(x) + (y < 0 ? 4 : y > bottom ? 8 : 0);
  let [one, two] = [sides(x1, y1), sides(x2, y2)];
  const crosses = (): boolean => (one & two) === 0 && (one | two) !== 0;
  if (!crosses()) return { from, to, visible: (one | two) === 0 };
  if ((one & 12) !== 0) {
    const y = one < 8 ? 0 : bottom;
    x1 += Math.trunc(((y - y1) * (x2 - x1)) / (y2 - y1));
    y1 = y;
    one = across(x1);
  }
  if ((two & 12) !== 0) {
    const y = two < 8 ? 0 : bottom;
    x2 += Math.trunc(((y - y2) * (x2 - x1)) / (y2 - y1));
    y2 = y;
    two = across(x2);
  }
  if (crosses()) {
    if (one !== 0) {
      const x = one === 1 ? 0 : right;
      y1 += Math.trunc(((x - x1) * (y2 - y1)) / (x2 - x1));
      x1 = x;
      one = 0;
    }
    if (two !== 0) {
      const x = two === 1 ? 0 : right;
      y2 += Math.trunc(((x - x2) * (y2 - y1)) / (x2 - x1));
      x2 = x;
      two = 0;
    }
  }
  return { from: [x1, y1], to: [x2, y2], visible: (one | two) === 0 };
}

/** Bresenham's line, from the left end to the right end. */
function drawLine({ pixels, width, value }: Canvas, { from, to }: Line): void {
  const [[x1, y1], [x2, y2]] = from[0] <= to[0] ? [from, to] : [to, from];
  const [dx, dy] = [x2 - x1, Math.abs(y2 - y1)];
  const down = Math.sign(y2 - y1) * width;
  const [long, short, along, aside] = dy > dx ? [dy, dx, down, 1] : [dx, dy, 1, down];
  let [at, error] = [y1 * width + x1, long - 2 * short];
  for (let left = long; ; left--) {
    pixels[at] = value;
    if (left === 0) return;
    at += along;
    if (error < 0) {
      at += aside;
      error += 2 * long;
    }
    error -= 2 * short;
  }
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
 * an encoded picture of the mask, polygons drawn at the picture's size, `{polygons, size}` drawn at that size, or
 * `{shapes, ignored}` painted as ReasonSeg's; any of these as JSON text. An error in place of a mask is thrown.
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
  const { counts, size, bytes, path, shapes, ignored, polygons } = item as Readonly<Record<string, unknown>>;
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
  if (shapes !== undefined) return paintedRle(shapes, ignored === true ? "ignore" : "target", context);
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
