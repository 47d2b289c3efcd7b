/** Pictures as PNG: 8-bit RGB, every row with filter 0. */

import { zlibSync } from "fflate";
import { crc32 } from "../bytes/hash.ts";
import { joinBytes } from "../bytes/source.ts";
import type { RgbImage } from "../data/sample.ts";

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
