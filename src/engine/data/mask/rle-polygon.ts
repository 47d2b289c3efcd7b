import { LabError } from "../../errors.ts";
import { mergeRles } from "./rle-compare.ts";
import { canonicalRuns, checkMaskSize, type Rle, rleFromRuns } from "./rle-runs.ts";

/** Subdivision of the grid on which the outline is rasterised (cocoapi, maskApi). */
const SCALE = 5;
/** Maximum outline points of one object, far above any annotation. */
const MAX_OUTLINE = 2 ** 22;

/**
 * Mask of one object as the union of polygons [x0, y0, x1, y1, …] in pixels, equal to the reference C code pixel by pixel
 * (a canvas fill is not). Parts may extend beyond the picture.
 * @throws LabError("bad-input") for an odd number of coordinates, fewer than three points or impossible coordinates
 */
export function rleFromPolygons(polygons: readonly (readonly number[])[], height: number, width: number): Rle {
  checkMaskSize(height, width);
  if (polygons.length === 0) throw new LabError("bad-input", "the mask has no polygon");
  const budget = { left: MAX_OUTLINE };
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
  return rasterise([x, y, x, y1, x1, y1, x1, y], height, width, { left: MAX_OUTLINE });
}

/** Follows the outline at SCALE and records, per crossed column centre, the row below which the mask changes. */
function rasterise(polygon: readonly number[], height: number, width: number, budget: { left: number }): Rle {
  const [u, v] = outline(polygon, budget);
  const crossings: number[] = [];
  for (let j = 1; j < u.length; j++) {
    const [u1, u0] = [u[j] as number, u[j - 1] as number];
    if (u1 === u0) continue;
    const x = ((u1 < u0 ? u1 : u1 - 1) + 0.5) / SCALE - 0.5;
    if (Math.floor(x) !== x || x < 0 || x > width - 1) continue;
    const y = (Math.min(v[j] as number, v[j - 1] as number) + 0.5) / SCALE - 0.5;
    crossings.push(x * height + Math.ceil(Math.min(Math.max(y, 0), height)));
  }
  crossings.sort((a, b) => a - b);
  crossings.push(height * width);
  let before = 0;
  const runs = crossings.map((at) => {
    const run = at - before;
    before = at;
    return run;
  });
  // Two crossings at one position cancel, like joining runs around a zero-length run.
  return rleFromRuns(canonicalRuns(runs), height, width);
}

/** All grid points of the closed outline, edge by edge; they are deducted from the budget. */
function outline(polygon: readonly number[], budget: { left: number }): [Int32Array, Int32Array] {
  const points = polygon.length / 2;
  const grid = polygon.map((coordinate) => {
    const scaled = Math.trunc(SCALE * coordinate + 0.5);
    if (!(Math.abs(scaled) < MAX_OUTLINE)) {
      throw new LabError("bad-input", `a polygon has the impossible coordinate ${coordinate}`);
    }
    return scaled;
  });
  const corner = (index: number): [number, number] => {
    const at = (index % points) * 2;
    return [grid[at] as number, grid[at + 1] as number];
  };
  let total = 0;
  for (let j = 0; j < points; j++) {
    const [[x0, y0], [x1, y1]] = [corner(j), corner(j + 1)];
    total += Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0)) + 1;
  }
  budget.left -= total;
  if (budget.left < 0) {
    throw new LabError("bad-input", `the outline of the mask has more than ${MAX_OUTLINE} steps`);
  }
  const u = new Int32Array(total);
  const v = new Int32Array(total);
  let m = 0;
  for (let j = 0; j < points; j++) {
    const [start, end] = [corner(j), corner(j + 1)];
    const [dx, dy] = [Math.abs(end[0] - start[0]), Math.abs(end[1] - start[1])];
    const flat = dx >= dy;
    // An edge is always sampled in the same direction, so that both neighbours of a shared edge agree.
    const flip = flat ? start[0] > end[0] : start[1] > end[1];
    const [from, to] = flip ? [end, start] : [start, end];
    const steps = flat ? dx : dy;
    const slope = steps === 0 ? 0 : (flat ? to[1] - from[1] : to[0] - from[0]) / steps;
    for (let d = 0; d <= steps; d++, m++) {
      const t = flip ? steps - d : d;
      u[m] = flat ? from[0] + t : Math.trunc(from[0] + slope * t + 0.5);
      v[m] = flat ? Math.trunc(from[1] + slope * t + 0.5) : from[1] + t;
    }
  }
  return [u, v];
}
