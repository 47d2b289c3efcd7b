import { badInput } from "../../errors.ts";
import type { ReadMeter } from "../tables/read-meter.ts";
import { mergeRles } from "./rle-compare.ts";
import { checkMaskSize, type Rle, rleFromRuns } from "./rle-runs.ts";

/** Subdivision of the grid on which the outline is rasterised (cocoapi, maskApi). */
const SCALE = 5;
/** Grid line of a column's centre: 2, 7, 12, … */
const CENTRE = (SCALE - 1) / 2;
/** Largest coordinate on the grid, far above any annotation. */
const MAX_GRID = 2 ** 22;
/** Maximum crossings of column centres by one object. */
const MAX_CROSSINGS = 2 ** 22;
/** Crossings allowed for any object, however small its picture. */
const FREE_CROSSINGS = 2 ** 16;
/** Bytes that the meter of a pass counts for a crossing and its runs. */
const CROSSING_BYTES = 16;

/** Remaining crossings of one object. */
interface Budget {
  left: number;
  readonly most: number;
  readonly meter: ReadMeter | undefined;
}

/**
 * Mask of one object as the union of polygons [x0, y0, x1, y1, …] in pixels; equal to the reference C code pixel by
 * pixel, unlike a canvas fill. Parts may extend outside the picture; parts of fewer than three points cover nothing.
 * The work is bounded by the mask's area and the number of points: an outline with more crossings of columns than
 * 65,536 plus twice the pixels plus four times the points is refused.
 * @param meter counts the work against the limit of a pass over the file
 * @throws LabError("bad-input") for an odd number of coordinates, no part of three points, absurd coordinates or too many
 *   crossings
 */
export function rleFromPolygons(
  polygons: readonly (readonly number[])[],
  height: number,
  width: number,
  meter?: ReadMeter,
): Rle {
  checkMaskSize(height, width);
  if (polygons.length === 0) throw badInput("the mask has no polygon");
  const points = polygons.reduce((sum, polygon) => sum + polygon.length / 2, 0);
  const most = Math.min(MAX_CROSSINGS, FREE_CROSSINGS + 2 * height * width + 4 * points);
  const budget = { left: most, most, meter };
  const areas = polygons.filter((polygon) => polygon.length >= 6);
  const wrong = polygons.find((polygon) => polygon.length % 2 !== 0 || areas.length === 0);
  if (wrong !== undefined)
    throw badInput(`a polygon has ${wrong.length} coordinates, not an even number of at least 6`);
  return united(areas.map((polygon) => rasterise(polygon, height, width, budget)));
}

/** Union of the parts of one object, pairwise, so that the work is n log n. */
function united(parts: readonly Rle[]): Rle {
  if (parts.length <= 1) return parts[0] as Rle;
  const half = parts.length >> 1;
  return mergeRles([united(parts.slice(0, half)), united(parts.slice(half))], "union");
}

/**
 * Mask of a box [x, y, width, height] in pixels, with the rounding of the reference code.
 * @throws LabError("bad-input") for impossible coordinates or sizes
 */
export function rleFromBox(box: readonly [number, number, number, number], height: number, width: number): Rle {
  checkMaskSize(height, width);
  const [x, y] = box;
  const [x1, y1] = [x + box[2], y + box[3]];
  return rasterise([x, y, x, y1, x1, y1, x1, y], height, width, {
    left: MAX_CROSSINGS,
    most: MAX_CROSSINGS,
    meter: undefined,
  });
}

/** Capacity for crossings that is kept between outlines. */
const KEPT_CROSSINGS = 2 ** 13;
/** Crossings of the current outline; the buffer grows when needed. */
let scratch = new Int32Array(KEPT_CROSSINGS);

/** Finds where the outline crosses the centres of columns; between two crossings the mask does not change. */
function rasterise(polygon: readonly number[], height: number, width: number, budget: Budget): Rle {
  const { length } = polygon;
  let count = 0;
  let [x, y] = [gridPoint(polygon[0] as number), gridPoint(polygon[1] as number)];
  for (let at = 2; at <= length; at += 2) {
    const nextX = gridPoint(polygon[at % length] as number);
    const nextY = gridPoint(polygon[(at + 1) % length] as number);
    const after = crossEdge(x, y, nextX, nextY, height, width, count);
    x = nextX;
    y = nextY;
    const added = after - count;
    count = after;
    budget.left -= added;
    if (budget.left < 0) {
      const limit = `more than the ${budget.most} that ${width} x ${height} pixels and its points allow`;
      throw badInput(`the outline of the mask crosses columns too often, ${limit}`);
    }
    budget.meter?.take(CROSSING_BYTES * added);
  }
  const crossings = scratch.subarray(0, count).sort();
  // Two crossings at one place cancel, because there is no pixel between them.
  const runs: number[] = [];
  let [before, at] = [0, 0];
  while (at < count) {
    const place = crossings[at] as number;
    let same = at + 1;
    while (same < count && crossings[same] === place) same++;
    if ((same - at) % 2 === 1) {
      runs.push(place - before);
      before = place;
    }
    at = same;
  }
  if (scratch.length > KEPT_CROSSINGS) scratch = new Int32Array(KEPT_CROSSINGS);
  // An object that ends with the picture has no background after it.
  if (before < height * width || runs.length === 0) runs.push(height * width - before);
  return rleFromRuns(runs, height, width);
}

/** A coordinate on the grid. @throws LabError("bad-input") when it is absurd */
function gridPoint(coordinate: number): number {
  const scaled = Math.trunc(SCALE * coordinate + 0.5);
  if (Math.abs(scaled) < MAX_GRID) return scaled;
  throw badInput(`a polygon has the impossible coordinate ${coordinate}`);
}

/**
 * Writes the crossings of an edge from (startX, startY) to (endX, endY) on the grid into `scratch` from `count` on, as
 * column-major pixel numbers, and returns their total number. The reference follows the grid point by point; a crossing
 * lies between the grid lines m and m + 1, where m is the centre of a column, at the upper one of the two points. An
 * edge is always sampled from its end with the smaller coordinate, so that both polygons of a shared edge agree.
 */
function crossEdge(
  startX: number,
  startY: number,
  endX: number,
  endY: number,
  height: number,
  width: number,
  count: number,
): number {
  const dx = Math.abs(endX - startX);
  const dy = Math.abs(endY - startY);
  if (dx === 0) return count;
  const flat = dx >= dy;
  const flip = flat ? startX > endX : startY > endY;
  const fromX = flip ? endX : startX;
  const fromY = flip ? endY : startY;
  const slope = flat ? ((flip ? startY : endY) - fromY) / dx : ((flip ? startX : endX) - fromX) / dy;
  const low = Math.min(startX, endX);
  const first = Math.max(0, Math.ceil((low - CENTRE) / SCALE));
  const last = Math.min(width - 1, Math.floor((low + dx - 1 - CENTRE) / SCALE));
  if (last < first) return count;
  if (scratch.length < count + last - first + 1) {
    const larger = new Int32Array(2 * (count + last - first + 1));
    larger.set(scratch);
    scratch = larger;
  }
  let written = count;
  for (let column = first; column <= last; column++) {
    const line = SCALE * column + CENTRE;
    let gridY: number;
    if (flat) {
      const t = line - fromX;
      gridY = Math.min(Math.trunc(fromY + slope * t + 0.5), Math.trunc(fromY + slope * (t + 1) + 0.5));
    } else {
      // The last step before the gap between the two lines: near the place where the exact edge crosses it.
      let t = Math.min(dy - 1, Math.max(0, Math.floor((line + 0.5 - fromX) / slope)));
      while (t > 0 && !isBefore(t, line, fromX, slope)) t--;
      while (t < dy - 1 && isBefore(t + 1, line, fromX, slope)) t++;
      gridY = fromY + t;
    }
    const y = (gridY + 0.5) / SCALE - 0.5;
    scratch[written++] = column * height + Math.ceil(Math.min(Math.max(y, 0), height));
  }
  return written;
}

/** Whether step `t` of a steep edge lies before the gap that follows a grid line. */
function isBefore(t: number, line: number, fromX: number, slope: number): boolean {
  const x = Math.trunc(fromX + slope * t + 0.5);
  return slope > 0 ? x <= line : x > line;
}
