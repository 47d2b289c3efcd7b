/** Cuts a picture into the square tiles of the vision tower (docs/spec/sa2va.md#52-tiles-for-the-vision-tower). */
import type { RgbImage } from "../../data/sample.ts";
import { LabError } from "../../errors.ts";
import { resizeBicubic } from "./pillow-bicubic.ts";

export interface TilingConfig {
  /** Side of a tile in pixels. */
  readonly tileSize: number;
  /** Minimum and maximum tiles, without the thumbnail. */
  readonly minTiles: number;
  readonly maxTiles: number;
  /** Whether to append the whole picture as one more tile if there is more than one. */
  readonly useThumbnail: boolean;
}

export interface TileGrid {
  readonly cols: number;
  readonly rows: number;
}

export interface ImageTiles extends TileGrid {
  /** [count, tileSize, tileSize, 3]: row-major tiles, then the thumbnail if there is one. */
  readonly tiles: Uint8Array;
  readonly count: number;
}

/**
 * The grid whose cols/rows is closest to width/height. On an exact tie the larger grid wins only when the picture has
 * more than half of its pixels.
 * @throws LabError("bad-config") when no grid has between minTiles and maxTiles tiles
 */
export function chooseGrid(width: number, height: number, config: TilingConfig): TileGrid {
  const aspect = width / height;
  let best: TileGrid | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const grid of gridCandidates(config.minTiles, config.maxTiles)) {
    const distance = Math.abs(aspect - grid.cols / grid.rows);
    const large = width * height > 0.5 * config.tileSize ** 2 * grid.cols * grid.rows;
    if (distance < bestDistance || (distance === bestDistance && large)) {
      best = grid;
      bestDistance = distance;
    }
  }
  if (best === undefined) {
    throw new LabError("bad-config", `No tile grid has between ${config.minTiles} and ${config.maxTiles} tiles`);
  }
  return best;
}

/** All grids with minTiles ≤ cols · rows ≤ maxTiles, fewest tiles first. */
function gridCandidates(minTiles: number, maxTiles: number): TileGrid[] {
  const grids: TileGrid[] = [];
  for (let cols = 1; cols <= maxTiles; cols++) {
    for (let rows = 1; cols * rows <= maxTiles; rows++) {
      if (cols * rows >= minTiles) grids.push({ cols, rows });
    }
  }
  return grids.sort((a, b) => a.cols * a.rows - b.cols * b.rows);
}

/** Number of tiles of the grid, including the thumbnail. */
export function tileCount(grid: TileGrid, config: TilingConfig): number {
  const count = grid.cols * grid.rows;
  return config.useThumbnail && count > 1 ? count + 1 : count;
}

/** The input of the vision tower, 8-bit RGB. */
export function imageTiles(image: RgbImage, config: TilingConfig): ImageTiles {
  const { cols, rows } = chooseGrid(image.width, image.height, config);
  const size = config.tileSize;
  const count = tileCount({ cols, rows }, config);
  const bytesPerTile = size * size * 3;
  const tiles = new Uint8Array(count * bytesPerTile);
  const whole = resizeBicubic(image, size * cols, size * rows).data;
  const rowBytes = size * 3;
  for (let tile = 0; tile < cols * rows; tile++) {
    const left = (tile % cols) * rowBytes;
    const top = Math.floor(tile / cols) * size;
    for (let y = 0; y < size; y++) {
      const from = (top + y) * rowBytes * cols + left;
      tiles.set(whole.subarray(from, from + rowBytes), tile * bytesPerTile + y * rowBytes);
    }
  }
  if (count > cols * rows) tiles.set(resizeBicubic(image, size, size).data, cols * rows * bytesPerTile);
  return { tiles, count, cols, rows };
}
