/** Masks as TIFF, the format in which Pillow and `datasets` store palettes, 32-bit integers and floats. */
import { viewOf } from "../../bytes/memory.ts";
import { badInput, LabError } from "../../errors.ts";
import type { Bitmap } from "./mask-bitmap.ts";
import { checkMaskSize } from "./rle.ts";

/** Maximum entries of a directory, and maximum strips. */
const MAX_ENTRIES = 1000;
const MAX_STRIPS = 2 ** 16;

/** Whether bytes begin with a TIFF signature. */
export function isTiff(bytes: Uint8Array): boolean {
  const head = String.fromCharCode(...bytes.subarray(0, 4));
  return head === "II*\u0000" || head === "MM\u0000*";
}

/**
 * Pixels of the first picture of an uncompressed TIFF with one number per pixel; palette entries are used as indices.
 * @throws LabError("bad-input") when it is damaged, "unsupported" for other kinds
 */
export function readTiffMask(bytes: Uint8Array): Bitmap {
  try {
    return read(bytes);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw badInput("the mask's TIFF is damaged", undefined, thrown);
    throw thrown;
  }
}

/** Tags of the format. */
const [WIDTH, HEIGHT, BITS, PACKING, MEANING, STRIPS, CHANNELS, FORMAT] = [256, 257, 258, 259, 262, 273, 277, 339];
const [ROWS, TILES] = [278, 324];

function read(bytes: Uint8Array): Bitmap {
  const view = viewOf(bytes);
  const little = bytes[0] === 0x49;
  const directory = view.getUint32(4, little);
  const entries = view.getUint16(directory, little);
  if (entries > MAX_ENTRIES) throw new RangeError("too many entries");
  const tags = new Map<number, number[]>();
  for (let entry = 0; entry < entries; entry++) {
    const at = directory + 2 + 12 * entry;
    const [tag, type, count] = [
      view.getUint16(at, little),
      view.getUint16(at + 2, little),
      view.getUint32(at + 4, little),
    ];
    // Short and long numbers; values that fit are stored in the entry.
    if ((type !== 3 && type !== 4) || count > MAX_STRIPS) continue;
    const size = type === 3 ? 2 : 4;
    const from = count * size <= 4 ? at + 8 : view.getUint32(at + 8, little);
    const number = (place: number): number =>
      type === 3 ? view.getUint16(place, little) : view.getUint32(place, little);
    const values = Array.from({ length: count }, (_, n) => number(from + n * size));
    tags.set(tag, values);
  }
  const one = (tag: number, missing: number): number => tags.get(tag)?.[0] ?? missing;
  const [height, width, bits] = [one(HEIGHT, 0), one(WIDTH, 0), one(BITS, 1)];
  checkMaskSize(height, width);
  const format = one(FORMAT, 1);
  if (
    one(PACKING, 1) !== 1 ||
    one(CHANNELS, 1) !== 1 ||
    ![1, 8, 16, 32].includes(bits) ||
    (format === 3 && bits !== 32) ||
    tags.has(TILES)
  ) {
    const kind = "is compressed, is stored in tiles or has several channels";
    throw new LabError("unsupported", `the mask's TIFF ${kind}; write it as PNG`);
  }
  const strips = tags.get(STRIPS) ?? [];
  const rows = Math.min(height, one(ROWS, height));
  const line = Math.ceil((width * bits) / 8);
  const white = one(MEANING, 1) === 0;
  const pixel = (start: number, x: number): number => {
    if (bits === 1) return (view.getUint8(start + (x >> 3)) >> (7 - (x & 7))) & 1;
    if (bits === 8) return view.getUint8(start + x);
    if (bits === 16) return view.getUint16(start + 2 * x, little);
    if (format === 3) return view.getFloat32(start + 4 * x, little);
    return format === 2 ? view.getInt32(start + 4 * x, little) : view.getUint32(start + 4 * x, little);
  };
  const values = new Float64Array(height * width);
  for (let y = 0; y < height; y++) {
    const strip = strips[Math.floor(y / rows)];
    if (strip === undefined) throw new RangeError("a strip is missing");
    const start = strip + (y % rows) * line;
    for (let x = 0; x < width; x++) {
      const value = pixel(start, x);
      // WhiteIsZero, as in fax images.
      values[y * width + x] = white ? (value === 0 ? 1 : 0) : value;
    }
  }
  return { height, width, values };
}
