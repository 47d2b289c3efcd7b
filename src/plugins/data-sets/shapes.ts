/**
 * Shapes of ReasonSeg as masks, painted like LISA: pixels of the outline and the inside, corners at whole numbers, as in
 * OpenCV's fillPoly; COCO's polygon rules give other pixels (docs/spec/evaluation.md#17-reasonseg-lisa-reasonseg).
 */
import { addTo } from "../../engine/bytes/collections.ts";
import { isRecord } from "../../engine/bytes/json.ts";
import type { MaskContext, PaintedMask } from "../../engine/data/mask/mask-read.ts";
import { checkMaskSize, encodeRle, type Rle } from "../../engine/data/mask/rle.ts";
import { badInput } from "../../engine/errors.ts";

type Point = readonly [x: number, y: number];

/** Maximum number of shapes times pixels, far above any picture of the data set. */
const MAX_WORK = 2 ** 31;
/** Largest coordinate, so that products of two are exact in a double. */
const MAX_COORDINATE = 2 ** 20;
/** Units per pixel for positions along an edge. */
const ONE = 2 ** 16;

/** The shapes as a mask of their target pixels, or of those that do not count. */
export function shapesMask(shapes: unknown, part: "target" | "ignore"): PaintedMask & { readonly shapes: unknown } {
  return { shapes, paint: (size) => paintedRle(shapes, part, size) };
}

/**
 * Paints shapes from large to small, each over the previous ones, and returns the pixels of one kind. Labels with
 * "ignore" do not count, "flag" is left out, every other label is the target.
 * @throws LabError("bad-input") when a shape has no points, impossible points, or more points than its picture can need
 */
export function paintedRle(
  shapes: unknown,
  part: "target" | "ignore",
  { height, width, meter }: Pick<MaskContext, "height" | "width" | "meter">,
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
