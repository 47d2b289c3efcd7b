/** PNG decoder with bounds checks: the declared size is validated before and enforced during unpacking. */
import { type DecodedPng, decode } from "fast-png";
import { Unzlib, zlibSync } from "fflate";
import { IS_POINTER, isPointer } from "../../bytes/git-lfs.ts";
import { viewOf } from "../../bytes/memory.ts";
import { badInput, LabError, thrownText } from "../../errors.ts";
import { MAX_MASK_PIXELS } from "../mask/rle-runs.ts";
import { isPngHead, pngBytes, pngProblem } from "./png-header.ts";
import { joinPasses } from "./png-passes.ts";

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
