/** Unpacks pages within limits: never more than the stated size, and never a page whose bytes cannot hold that much. */
import { Gunzip } from "fflate";
import { snappyUncompress } from "hyparquet";
import { decodeLz4Block, LZ4_RATIO } from "../../bytes/lz4.ts";
import { decodeZstd, ZSTD_RATIO } from "../../bytes/zstd.ts";
import { LabError } from "../../errors.ts";
import { BROTLI_RATIO, decodeBrotli } from "./brotli.ts";
import type { BrotliWords } from "./brotli-words.ts";
import type { Chunk } from "./footer.ts";

/** Maximum bytes of an unpacked page: one with 100 pictures of a few hundred kilobytes has 50 MB. */
export const MAX_PAGE = 2 ** 28;

/** Maximum content bytes per packed byte, by format. */
const RATIOS: Readonly<Partial<Record<Chunk["codec"], number>>> = {
  UNCOMPRESSED: 1,
  SNAPPY: 64,
  GZIP: 1032,
  LZ4_RAW: LZ4_RATIO,
  ZSTD: ZSTD_RATIO,
  BROTLI: BROTLI_RATIO,
};

let words: Promise<BrotliWords> | undefined;

/**
 * The content of a page.
 * @param size its stated bytes
 * @throws LabError("unsupported") for other codecs; Error or RangeError when it is damaged
 */
export async function unpackPage(packed: Uint8Array, size: number, codec: Chunk["codec"]): Promise<Uint8Array> {
  const ratio = RATIOS[codec];
  if (ratio === undefined) {
    throw new LabError(
      "unsupported",
      `pages compressed with ${codec} cannot be read here, only Snappy, gzip, Zstandard, Brotli and LZ4`,
    );
  }
  if (size > MAX_PAGE || size > ratio * packed.length)
    throw new RangeError(`${packed.length} packed bytes cannot hold ${size} bytes`);
  if (size === 0) return new Uint8Array(0);
  switch (codec) {
    case "SNAPPY": {
      const out = new Uint8Array(size);
      snappyUncompress(packed, out);
      return out;
    }
    case "GZIP":
      return gunzip(packed, size);
    case "LZ4_RAW":
      return decodeLz4Block(packed, size);
    case "ZSTD":
      return decodeZstd(packed, size);
    case "BROTLI":
      words ??= import("./brotli-words.ts").then(({ brotliWords }) => brotliWords());
      return decodeBrotli(packed, size, await words);
    default:
      if (packed.length !== size) throw new RangeError(`it holds ${packed.length} bytes where ${size} are stated`);
      return packed;
  }
}

/** Input bytes inflated at a time, so that a decompression bomb is detected early. */
const PIECE = 2 ** 16;

function gunzip(packed: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(size);
  let written = 0;
  const inflate = new Gunzip((piece) => {
    if (written + piece.length > size) throw new RangeError("it holds more bytes than it states");
    out.set(piece, written);
    written += piece.length;
  });
  for (let at = 0; at < packed.length; at += PIECE) {
    inflate.push(packed.subarray(at, at + PIECE), at + PIECE >= packed.length);
  }
  if (written !== size) throw new RangeError(`it holds ${written} bytes where ${size} are stated`);
  return out;
}
