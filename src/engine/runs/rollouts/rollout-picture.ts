/** Draws a group of rollouts as one picture: the row's mask, then the mask of each rollout. */
import { zlibSync } from "fflate";
import { crc32 } from "../../bytes/hash.ts";
import { joinBytes } from "../../bytes/source.ts";
import { decodeRle, type Rle } from "../../data/mask/rle.ts";
import type { RgbImage } from "../../data/sample.ts";
import type { EventImage } from "../../formats/tfevents.ts";
import type { GroupRecord } from "./records.ts";
import { drawnMask, noisyMask } from "./rollout-facts.ts";

// Pictures as PNG: 8-bit RGB, every row with filter 0.

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
/** 8 bits per channel, RGB; compression, filter method and interlace 0. */
const FORMAT = [8, 2, 0, 0, 0];

export function encodePng({ width, height, data }: RgbImage): Uint8Array<ArrayBuffer> {
  const rows = new Uint8Array(height * (width * 3 + 1));
  for (let y = 0; y < height; y++) {
    rows.set(data.subarray(y * width * 3, (y + 1) * width * 3), y * (width * 3 + 1) + 1);
  }
  const header = Uint8Array.of(...uint32(width), ...uint32(height), ...FORMAT);
  return joinBytes([
    Uint8Array.from(SIGNATURE),
    chunk("IHDR", header),
    chunk("IDAT", zlibSync(rows)),
    chunk("IEND", new Uint8Array()),
  ]);
}

/** Length, type, data, and the checksum of the last two. */
function chunk(type: string, data: Uint8Array): Uint8Array {
  const out = new Uint8Array(data.length + 12);
  out.set(uint32(data.length));
  out.set(new TextEncoder().encode(type), 4);
  out.set(data, 8);
  out.set(uint32(crc32(out.subarray(4, 8 + data.length))), 8 + data.length);
  return out;
}

function uint32(value: number): number[] {
  return [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255];
}

/** Pixels of a row's picture; null if it is not available. */
export type PictureOf = (rowId: string, imageId: string) => Promise<RgbImage | null>;

/** Longest side of one tile, in pixels; the width of a clip's strip of frames. */
const TILE = 224;
/** Maximum height of a strip. */
const TALLEST = 4096;
/** Maximum rollouts in a picture. */
const MOST = 8;
const GIVEN = [60, 200, 90] as const;
const PREDICTED = [255, 140, 0] as const;
const SAMPLED = [255, 255, 255] as const;
/** Background if there is no picture. */
const GROUND = 24;

/**
 * Draws the row's mask, then the mask of each rollout without exploration noise, with the outline of the sampled mask.
 * @param photo picture of the masks' shape; null draws the masks alone
 */
export function groupPicture(group: GroupRecord, photo: RgbImage | null): EventImage {
  const rollouts = group.rollouts.slice(0, MOST);
  const given = rollouts[0]?.givenMask ?? null;
  return maskTiles(given, rollouts.map(drawnMask), photo, rollouts.map(noisyMask));
}

/**
 * Tiles from left to right: the true mask in green; then each of the others in orange, with the outline of the true one
 * in green.
 * @param photo picture of the masks' shape, of any size; null draws the masks alone
 * @param sampled drawn as a thin white outline over the mask of the same place
 */
export function maskTiles(
  truth: Rle | null,
  masks: readonly (Rle | null)[],
  photo: RgbImage | null,
  sampled: readonly (Rle | null)[] = [],
): EventImage {
  const [rows, columns] = truth?.size ?? [1, 1];
  const strip = rows >= 2 * columns;
  const scale = strip ? Math.min(TILE / columns, TALLEST / rows) : TILE / Math.max(rows, columns);
  const [height, width] = [Math.max(1, Math.round(rows * scale)), Math.max(1, Math.round(columns * scale))];
  const picture = photo !== null && sameShape(photo, rows, columns) ? photo : null;
  const total = width * (masks.length + 1);
  const data = new Uint8Array(total * height * 3);
  const given = tileOf(truth, width, height);
  for (let tile = 0; tile <= masks.length; tile++) {
    const predicted = tile === 0 ? null : tileOf(masks[tile - 1] ?? null, width, height);
    const noisy = tile === 0 ? null : tileOf(sampled[tile - 1] ?? null, width, height);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const at = y * width + x;
        const colour =
          tile === 0
            ? given[at] === 1 && GIVEN
            : isEdge(given, x, y, width, height)
              ? GIVEN
              : noisy !== null && isEdge(noisy, x, y, width, height)
                ? SAMPLED
                : predicted?.[at] === 1 && PREDICTED;
        const source =
          picture === null ? -1 : nearest(y, height, picture.height) * picture.width + nearest(x, width, picture.width);
        for (let c = 0; c < 3; c++) {
          const base = picture === null ? GROUND : (picture.data[source * 3 + c] as number);
          const value = colour === false ? base : (base + (colour[c] as number)) >> 1;
          data[(y * total + tile * width + x) * 3 + c] = value;
        }
      }
    }
  }
  return { width: total, height, png: encodePng({ width: total, height, data }) };
}

/** Whether a picture, perhaps a reduced one, has the shape of a mask: each side is off by less than a pixel. */
function sameShape({ width, height }: RgbImage, rows: number, columns: number): boolean {
  return Math.abs(width * rows - height * columns) < Math.max(rows, columns);
}

/** A mask scaled to a tile. */
function tileOf(mask: Rle | null, width: number, height: number): Uint8Array {
  const tile = new Uint8Array(width * height);
  if (mask === null) return tile;
  const [rows, columns] = mask.size;
  const pixels = decodeRle(mask);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      tile[y * width + x] = pixels[nearest(y, height, rows) * columns + nearest(x, width, columns)] as number;
    }
  }
  return tile;
}

/** The source pixel under the centre of a target pixel. */
function nearest(at: number, size: number, sourceSize: number): number {
  return Math.min(sourceSize - 1, Math.floor(((at + 0.5) * sourceSize) / size));
}

/** Whether a pixel of the mask has a neighbour outside it. */
function isEdge(mask: Uint8Array, x: number, y: number, width: number, height: number): boolean {
  if (mask[y * width + x] !== 1) return false;
  if (x === 0 || y === 0 || x === width - 1 || y === height - 1) return true;
  return [y * width + x - 1, y * width + x + 1, (y - 1) * width + x, (y + 1) * width + x].some((at) => mask[at] !== 1);
}
