/** Zstandard, LZ4 and Brotli, which Arrow and Parquet files may use. */
import type { Codec } from "../plugin.ts";
import { BROTLI_RATIO, type BrotliWords, brotliWords, decodeBrotli } from "./brotli.ts";
import { decodeLz4Block, decodeLz4Frame, LZ4_RATIO } from "./lz4.ts";
import { decodeZstd, ZSTD_RATIO } from "./zstd.ts";

let words: BrotliWords | undefined;

export const codecs: readonly Codec[] = [
  { name: "LZ4_FRAME", ratio: LZ4_RATIO, decode: decodeLz4Frame },
  { name: "LZ4_RAW", ratio: LZ4_RATIO, decode: decodeLz4Block },
  { name: "ZSTD", ratio: ZSTD_RATIO, decode: decodeZstd },
  {
    name: "BROTLI",
    ratio: BROTLI_RATIO,
    decode: (packed, size) => {
      words ??= brotliWords();
      return decodeBrotli(packed, size, words);
    },
  },
];
