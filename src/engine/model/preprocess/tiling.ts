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

interface TileGrid {
  readonly cols: number;
  readonly rows: number;
}

interface ImageTiles extends TileGrid {
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

// Converts bytes to the input values of both image encoders (docs/spec/sa2va.md#52-tiles-for-the-vision-tower,
// docs/spec/sa2va.md#53-sam2-input).

/** Per-channel mean and standard deviation of ImageNet, on the 0..1 scale. */
const PIXEL_MEAN: readonly [number, number, number] = [0.485, 0.456, 0.406];
const PIXEL_STD: readonly [number, number, number] = [0.229, 0.224, 0.225];

/**
 * (byte / 255 − mean) / std per channel.
 * @param bytes interleaved RGB, any number of pixels
 * @returns same layout
 */
export function normalisePixels(bytes: Uint8Array): Float32Array {
  const table = new Float32Array(3 * 256);
  for (let channel = 0; channel < 3; channel++) {
    for (let byte = 0; byte < 256; byte++) {
      table[channel * 256 + byte] = (byte / 255 - (PIXEL_MEAN[channel] as number)) / (PIXEL_STD[channel] as number);
    }
  }
  const values = new Float32Array(bytes.length);
  for (let at = 0; at < bytes.length; at++) values[at] = table[(at % 3) * 256 + (bytes[at] as number)] as number;
  return values;
}
