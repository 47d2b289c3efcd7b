/**
 * Pictures of Qwen-VL: sizes, the published resize, and patches in the tower's order
 * (docs/spec/qwen-vl.md#3-image-preprocessing).
 */
import type { RgbImage } from "../../../data/sample.ts";
import { badInput } from "../../../errors.ts";
import { resizeBicubic } from "../../preprocess/pillow-bicubic.ts";
import { LEAST_PIXELS, MERGE, MOST_PICTURE_PIXELS } from "./config.ts";

/** Longest side of a picture in units of its shortest. */
const MOST_ASPECT = 200;

/** Python's `round`: a half goes to the even neighbour. */
function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/**
 * The size that a picture is resized to: multiples of `factor` with nearly its aspect ratio and between `least` and
 * `most` pixels.
 * @throws LabError("bad-input") when one side is more than 200 times the other
 */
export function smartResize(
  height: number,
  width: number,
  factor: number,
  least: number = LEAST_PIXELS,
  most: number = MOST_PICTURE_PIXELS,
): { readonly height: number; readonly width: number } {
  if (Math.max(height, width) / Math.min(height, width) > MOST_ASPECT) {
    throw badInput(`A picture of ${width} x ${height} is more than ${MOST_ASPECT} times as long as wide`, "image");
  }
  const rounded = (side: number): number => roundHalfEven(side / factor) * factor;
  const [high, wide] = [rounded(height), rounded(width)];
  if (high * wide > most) {
    const shrink = Math.sqrt((height * width) / most);
    const scaled = (side: number): number => Math.max(factor, Math.floor(side / shrink / factor) * factor);
    return { height: scaled(height), width: scaled(width) };
  }
  if (high * wide < least) {
    const grow = Math.sqrt(least / (height * width));
    const scaled = (side: number): number => Math.ceil((side * grow) / factor) * factor;
    return { height: scaled(height), width: scaled(width) };
  }
  return { height: high, width: wide };
}

/** Sides and limits of the resize that the published `predict_forward` makes before the processor's own. */
const FIRST_FACTOR = 28;
const FIRST_LEAST = 4 * 28 ** 2;
const FIRST_MOST = 16384 * 28 ** 2;

/**
 * The picture at the tower's size.
 * @param patchSize side of a patch in pixels
 * @param twice whether to resize with Pillow's filter first, as published inference does; training resizes once
 */
export function resizedPicture(image: RgbImage, patchSize: number, twice: boolean): RgbImage {
  let current = image;
  if (twice) {
    const { height, width } = smartResize(image.height, image.width, FIRST_FACTOR, FIRST_LEAST, FIRST_MOST);
    current = resizeBicubic(image, width, height);
  }
  const { height, width } = smartResize(current.height, current.width, MERGE * patchSize);
  return resizeBicubic(current, width, height, "columns", "short");
}

/** Rows and columns of patches of a picture at the tower's size. */
export interface PatchGrid {
  readonly rows: number;
  readonly cols: number;
}

/** Row and column of every patch, in blocks of 2 x 2: block row, block column, row in the block, column in it. */
export function patchPlaces({ rows, cols }: PatchGrid): (readonly [row: number, col: number])[] {
  const places: [number, number][] = [];
  for (let top = 0; top < rows; top += MERGE) {
    for (let left = 0; left < cols; left += MERGE) {
      for (let y = 0; y < MERGE; y++) for (let x = 0; x < MERGE; x++) places.push([top + y, left + x]);
    }
  }
  return places;
}

/**
 * Patches of a picture at the tower's size, each channel by channel, row by row.
 * @param mean, std per channel on the 0..1 scale
 * @returns [patches, 3 · patchSize²] in the order of `patchPlaces`
 */
export function picturePatches(
  { width, height, data }: RgbImage,
  patchSize: number,
  mean: readonly number[],
  std: readonly number[],
): Float32Array<ArrayBuffer> {
  const table = new Float32Array(3 * 256);
  for (let at = 0; at < table.length; at++) {
    const channel = Math.floor(at / 256);
    table[at] = ((at % 256) / 255 - (mean[channel] as number)) / (std[channel] as number);
  }
  const values = new Float32Array(3 * width * height);
  let to = 0;
  for (const [row, col] of patchPlaces({ rows: height / patchSize, cols: width / patchSize })) {
    for (let channel = 0; channel < 3; channel++) {
      for (let y = 0; y < patchSize; y++) {
        let from = 3 * ((row * patchSize + y) * width + col * patchSize) + channel;
        for (let x = 0; x < patchSize; x++, from += 3) {
          values[to++] = table[channel * 256 + (data[from] as number)] as number;
        }
      }
    }
  }
  return values;
}
