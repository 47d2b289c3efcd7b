/** Region masks on the visual-token grid of one tile or picture (docs/spec/sa2va.md#54-region-masks). */
import { badInput } from "../../errors.ts";
import type { VisualGrid } from "../../text/prompt.ts";

interface RegionGridOptions {
  /**
   * Whether a region that covers no sampled pixel gets the cell that holds most of it; the reference passes an empty
   * region. A mask without any pixel stays empty.
   */
  readonly keepTiny?: boolean;
}

/**
 * Samples a full-size mask at one pixel per cell: cell (i, j) is pixel (floor(i·h/rows), floor(j·w/cols)), with the
 * step in single precision as in PyTorch's "nearest".
 * @param mask row-major height · width, 0 = background
 * @returns row-major rows · cols, 0 or 1
 * @throws LabError("bad-input") when mask and size disagree
 */
export function regionGrid(
  mask: Uint8Array,
  height: number,
  width: number,
  grid: VisualGrid,
  options: RegionGridOptions = {},
): Uint8Array {
  const cells = nearestMask(mask, height, width, grid.rows, grid.cols);
  if (options.keepTiny === true && !cells.includes(1)) {
    const cell = fullestCell(mask, height, width, grid);
    if (cell !== undefined) cells[cell] = 1;
  }
  return cells;
}

/**
 * PyTorch "nearest" resize of a mask to any size; any value other than 0 becomes 1.
 * @returns row-major outHeight · outWidth
 */
export function nearestMask(
  mask: Uint8Array,
  height: number,
  width: number,
  outHeight: number,
  outWidth: number,
): Uint8Array {
  if (mask.length !== height * width) throw badInput(`A mask of ${height} x ${width} has ${mask.length} pixels`);
  const rows = nearestSources(height, outHeight);
  const cols = nearestSources(width, outWidth);
  const out = new Uint8Array(outHeight * outWidth);
  let at = 0;
  for (const y of rows) for (const x of cols) out[at++] = mask[y * width + x] === 0 ? 0 : 1;
  return out;
}

/** Pixel along one side that each of `outSize` cells samples. */
export function nearestSources(inSize: number, outSize: number): number[] {
  const step = Math.fround(inSize / outSize);
  return Array.from({ length: outSize }, (_, i) => Math.min(Math.floor(Math.fround(i * step)), inSize - 1));
}

/** The cell with the most mask pixels, the first of equals; undefined for an empty mask. */
function fullestCell(mask: Uint8Array, height: number, width: number, { rows, cols }: VisualGrid): number | undefined {
  const counts = new Float64Array(rows * cols);
  for (let y = 0; y < height; y++) {
    const row = Math.floor((y * rows) / height) * cols;
    for (let x = 0; x < width; x++) {
      if (mask[y * width + x] === 0) continue;
      const cell = row + Math.floor((x * cols) / width);
      counts[cell] = (counts[cell] as number) + 1;
    }
  }
  let best: number | undefined;
  for (let cell = 0; cell < counts.length; cell++) {
    if ((counts[cell] as number) > (best === undefined ? 0 : (counts[best] as number))) best = cell;
  }
  return best;
}
