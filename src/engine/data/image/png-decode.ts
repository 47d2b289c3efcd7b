/** PNG decoder with bounds checks: the declared size is validated before and enforced during unpacking. */
import { type DecodedPng, decode } from "fast-png";
import { Unzlib, zlibSync } from "fflate";
import { IS_POINTER, isPointer, viewOf } from "../../bytes/source.ts";
import { badInput, LabError, thrownText } from "../../errors.ts";
import { MAX_MASK_PIXELS } from "../mask/rle.ts";
import { isPngHead, pngBytes, pngProblem } from "./image-header.ts";

/** First column and row of each pass, and the steps to the next (Adam7). */
const PASSES = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/**
 * Converts the seven passes to rows of a non-interlaced picture, each after a filter byte of 0.
 * @param raw unpacked rows of all passes, each after its filter byte
 * @param depth bits per pixel: 1, 2 or 4
 * @throws RangeError when there are fewer rows, or an unknown filter
 */
function joinPasses(raw: Uint8Array, width: number, height: number, depth: number): Uint8Array {
  const line = 1 + Math.ceil((width * depth) / 8);
  const rows = new Uint8Array(height * line);
  const shift = (x: number): number => 8 - depth - ((x * depth) & 7);
  let at = 0;
  for (const [left, top, across, down] of PASSES) {
    const bytes = Math.ceil((Math.ceil((width - left) / across) * depth) / 8);
    if (bytes <= 0) continue;
    let above: Uint8Array = new Uint8Array(bytes);
    for (let y = top; y < height; y += down) {
      if (at + 1 + bytes > raw.length) throw new RangeError("a pass is cut off");
      const row = raw.slice(at + 1, at + 1 + bytes);
      unfilter(raw[at] as number, row, above);
      for (let x = left, n = 0; x < width; x += across, n++) {
        const value = ((row[(n * depth) >> 3] as number) >> shift(n)) & (2 ** depth - 1);
        const place = y * line + 1 + ((x * depth) >> 3);
        rows[place] = (rows[place] as number) | (value << shift(x));
      }
      above = row;
      at += 1 + bytes;
    }
  }
  return rows;
}

/** Restores a row in place; a pixel of less than a byte is predicted from the byte before it. */
function unfilter(filter: number, row: Uint8Array, above: Uint8Array): void {
  if (filter > 4) throw new RangeError(`filter ${filter} does not exist`);
  for (let at = 0, a = 0, c = 0; at < row.length; at++) {
    const b = above[at] as number;
    row[at] = (row[at] as number) + ([0, a, b, (a + b) >> 1, paeth(a, b, c)][filter] as number);
    [a, c] = [row[at] as number, b];
  }
}

function paeth(a: number, b: number, c: number): number {
  const [toA, toB, toC] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  if (toA <= toB && toA <= toC) return a;
  return toB <= toC ? b : c;
}

const [IDAT, IEND] = [0x49444154, 0x49454e44];
/** IHDR, PLTE, tRNS, IDAT, IEND. */
const NEEDED = [0x49484452, 0x504c5445, 0x74524e53, IDAT, IEND];
/** Input bytes inflated at a time, so that a decompression bomb is detected early. */
const PIECE = 2 ** 14;
/** Maximum unpacked bytes; decoding holds them three times. */
const MAX_BYTES = 2 ** 27;

export function isPng(bytes: Uint8Array): boolean {
  return bytes.length >= 33 && isPngHead(bytes);
}

/**
 * Decodes a PNG of at most 2^26 pixels and 128 MiB.
 * @param whose owner for messages: "mask's", "picture's"
 * @throws LabError("bad-input") when it is damaged, too large, or inconsistent with its header
 */
export function decodePng(bytes: Uint8Array, whose: string): DecodedPng {
  const bad = (what: string, cause?: unknown): LabError => badInput(`the ${whose} PNG ${what}`, undefined, cause);
  if (isPointer(bytes)) throw badInput(`the ${whose} PNG ${IS_POINTER}`);
  if (!isPng(bytes)) throw bad("is truncated or not a PNG");
  const problem = pngProblem(bytes);
  if (problem !== undefined) throw bad(`header ${problem}`);
  const view = viewOf(bytes);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const size = `${width} x ${height}`;
  if (width < 1 || height < 1 || width * height > MAX_MASK_PIXELS) throw bad(`declares an impossible size of ${size}`);
  const expected = pngBytes(bytes);
  if (expected > MAX_BYTES) throw bad(`unpacks to ${expected} bytes, more than the ${MAX_BYTES} allowed`);
  const [depth, interlaced] = [view.getUint8(24), view.getUint8(28) === 1];
  const passes = interlaced && depth < 8 ? new Uint8Array(expected) : undefined;
  let unpacked = 0;
  const inflate = new Unzlib((piece) => {
    if (unpacked + piece.length > expected) throw bad(`holds more than its ${size} pixels`);
    passes?.set(piece, unpacked);
    unpacked += piece.length;
  });
  // Keep only chunks that the pixels need; others may unpack to any size.
  const pixels = new Uint8Array(bytes.length);
  pixels.set(bytes.subarray(0, 8));
  let [kept, before] = [8, 8];
  try {
    for (let at = 8; at + 12 <= bytes.length; ) {
      const end = at + 8 + view.getUint32(at);
      if (end + 4 > bytes.length) throw bad("is cut off");
      const kind = view.getUint32(at + 4);
      if (NEEDED.includes(kind)) {
        pixels.set(bytes.subarray(at, end + 4), kept);
        kept += end + 4 - at;
        if (unpacked === 0 && kind !== IDAT) before = kept;
      }
      for (let from = at + 8; kind === IDAT && from < end; from += PIECE) {
        inflate.push(bytes.subarray(from, Math.min(end, from + PIECE)));
      }
      // Bytes after the end do not belong to the picture.
      at = kind === IEND ? bytes.length : end + 4;
    }
    if (!interlaced && unpacked < expected) throw bad(`holds fewer than its ${size} pixels`);
    if (passes === undefined) return decode(pixels.subarray(0, kept));
    const rows = joinPasses(passes.subarray(0, unpacked), width, height, depth);
    return decode(withRows(pixels.subarray(0, before), rows));
  } catch (thrown) {
    if (thrown instanceof LabError) throw thrown;
    throw bad(`cannot be decoded: ${thrownText(thrown)}`, thrown);
  }
}

/** A non-interlaced PNG of these chunks and rows, without checksums, which the decoder ignores. */
function withRows(chunks: Uint8Array, rows: Uint8Array): Uint8Array {
  const packed = zlibSync(rows, { level: 0 });
  const png = new Uint8Array(chunks.length + packed.length + 24);
  const view = viewOf(png);
  png.set(chunks);
  view.setUint8(28, 0);
  view.setUint32(chunks.length, packed.length);
  view.setUint32(chunks.length + 4, IDAT);
  png.set(packed, chunks.length + 8);
  view.setUint32(chunks.length + packed.length + 16, IEND);
  return png;
}
