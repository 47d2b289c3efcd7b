import { LabError } from "../../errors.ts";
import type { ReadMeter } from "../read-meter.ts";
import { mergeRles } from "./rle-compare.ts";
import { canonicalRuns, checkMaskSize, type Rle, rleFromRuns } from "./rle-runs.ts";

/** Subdivision of the grid on which the outline is rasterised (cocoapi, maskApi). */
const SCALE = 5;
/** Grid line of a column's centre: 2, 7, 12, … */
const CENTRE = (SCALE - 1) / 2;
/** Largest coordinate on the grid, far above any annotation. */
const MAX_GRID = 2 ** 22;
/** Maximum crossings of column centres of one object. */
const MAX_CROSSINGS = 2 ** 22;
/** Crossings that any object may have, however small its picture. */
const FREE_CROSSINGS = 2 ** 16;
/** Bytes of a crossing and the runs it makes, for the meter of a pass. */
const CROSSING_BYTES = 16;

/** Crossings that one object has left. */
interface Budget {
  left: number;
  readonly most: number;
  readonly meter: ReadMeter | undefined;
}

/**
 * Mask of one object given as polygons [x0, y0, x1, y1, …] in pixels, their union, equal to the reference C code pixel by
 * pixel (a canvas fill is not). Parts may reach outside the picture. The work is bounded by the mask's area and the number
 * of points: an outline with more crossings of columns than 65,536 plus twice the pixels plus four times the points is refused.
 * @param meter counts the work against the limit of a pass over the file
 * @throws LabError("bad-input") for an odd number of coordinates, fewer than three points, absurd coordinates or too many
 *   crossings
 */
export function rleFromPolygons(
  polygons: readonly (readonly number[])[],
  height: number,
  width: number,
  meter?: ReadMeter,
): Rle {
  checkMaskSize(height, width);
  if (polygons.length === 0) throw new LabError("bad-input", "the mask has no polygon");
  const points = polygons.reduce((sum, polygon) => sum + polygon.length / 2, 0);
  const most = Math.min(MAX_CROSSINGS, FREE_CROSSINGS + 2 * height * width + 4 * points);
  const budget = { left: most, most, meter };
  const parts = polygons.map((polygon) => {
    if (polygon.length % 2 !== 0 || polygon.length < 6) {
      throw new LabError("bad-input", `a polygon has ${polygon.length} coordinates, not an even number from 6 on`);
    }
    return rasterise(polygon, height, width, budget);
  });
  return united(parts);
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

/** Finds where the outline crosses the centres of columns; between two crossings the mask does not change. */
function rasterise(polygon: readonly number[], height: number, width: number, budget: Budget): Rle {
  const grid = polygon.map((coordinate) => {
    const scaled = Math.trunc(SCALE * coordinate + 0.5);
    if (!(Math.abs(scaled) < MAX_GRID)) {
      throw new LabError("bad-input", `a polygon has the impossible coordinate ${coordinate}`);
    }
    return scaled;
  });
  const crossings: number[] = [];
  for (let at = 0; at < grid.length; at += 2) {
    const next = (at + 2) % grid.length;
    const before = crossings.length;
    crossEdge([grid[at], grid[at + 1], grid[next], grid[next + 1]] as Edge, height, width, crossings);
    const added = crossings.length - before;
    budget.left -= added;
    if (budget.left < 0) {
      const limit = `more than the ${budget.most} that ${width} x ${height} pixels and its points allow`;
      throw new LabError("bad-input", `the outline of the mask crosses columns too often, ${limit}`);
    }
    budget.meter?.take(CROSSING_BYTES * added);
  }
  let before = 0;
  const runs: number[] = [];
  for (const at of Float64Array.from(crossings).sort()) {
    runs.push(at - before);
    before = at;
  }
  runs.push(height * width - before);
  // Two crossings at one place cancel, which is what joining around a zero-length run does.
  return rleFromRuns(canonicalRuns(runs), height, width);
}

/** Start and end on the grid: x0, y0, x1, y1. */
type Edge = readonly [number, number, number, number];

/**
 * Adds the crossings of one edge as column-major pixel numbers. The reference follows the grid point by point; a crossing
 * lies between the grid lines m and m + 1, m the centre of a column, at the upper of the two points. An edge is always
 * sampled from its end with the smaller coordinate, so that both polygons of a shared edge agree.
 */
function crossEdge([startX, startY, endX, endY]: Edge, height: number, width: number, crossings: number[]): void {
  const [dx, dy] = [Math.abs(endX - startX), Math.abs(endY - startY)];
  if (dx === 0) return;
  const flat = dx >= dy;
  const flip = flat ? startX > endX : startY > endY;
  const [fromX, fromY, toX, toY] = flip ? [endX, endY, startX, startY] : [startX, startY, endX, endY];
  const slope = flat ? (toY - fromY) / dx : (toX - fromX) / dy;
  const add = (column: number, gridY: number): void => {
    const y = (gridY + 0.5) / SCALE - 0.5;
    crossings.push(column * height + Math.ceil(Math.min(Math.max(y, 0), height)));
  };
  const low = Math.min(fromX, toX);
  const first = Math.max(0, Math.ceil((low - CENTRE) / SCALE));
  const last = Math.min(width - 1, Math.floor((low + dx - 1 - CENTRE) / SCALE));
  if (flat) {
    const yAt = (t: number): number => Math.trunc(fromY + slope * t + 0.5);
    for (let column = first; column <= last; column++) {
      const t = SCALE * column + CENTRE - fromX;
      add(column, Math.min(yAt(t), yAt(t + 1)));
    }
    return;
  }
  const xAt = (t: number): number => Math.trunc(fromX + slope * t + 0.5);
  for (let column = first; column <= last; column++) {
    const line = SCALE * column + CENTRE;
    // The last step before the gap between the two lines: near the place where the exact edge crosses it.
    const isBefore = (t: number): boolean => (slope > 0 ? xAt(t) <= line : xAt(t) > line);
    let t = Math.min(dy - 1, Math.max(0, Math.floor((line + 0.5 - fromX) / slope)));
    while (t > 0 && !isBefore(t)) t--;
    while (t < dy - 1 && isBefore(t + 1)) t++;
    add(column, fromY + t);
  }
}
