import { encode as encodePng } from "fast-png";
import jpeg from "jpeg-js";
import type { ShardRow } from "../../../scripts/lib/build/write-shard.ts";
import type { ByteFolder, ByteSource } from "../../../src/engine/bytes/source.ts";
import { encodeRle, type Rle } from "../../../src/engine/data/mask/rle.ts";

/** A small picture with a gradient; `tint` makes different pictures. */
export function png(width: number, height: number, tint = 0): Uint8Array {
  const data = new Uint8Array(width * height * 3);
  for (let at = 0; at < width * height; at++) data.set([at % 256, (at >> 4) % 256, tint], at * 3);
  return encodePng({ width, height, data, channels: 3 });
}

/** A mask as a PNG: a white box on black. */
export function maskPng(width: number, height: number): Uint8Array {
  const data = Uint8Array.from({ length: width * height }, (_, at) => (at % width < width / 2 ? 255 : 0));
  return encodePng({ width, height, channels: 1, data });
}

/** A JPEG, optionally with an EXIF orientation of its own. */
export function jpg(width: number, height: number, orientation?: number): Uint8Array {
  const data = new Uint8Array(width * height * 4);
  for (let at = 0; at < width * height; at++) data.set([at % 256, 90, 120, 255], at * 4);
  const plain = new Uint8Array(jpeg.encode({ width, height, data }, 90).data);
  if (orientation === undefined) return plain;
  // APP1: "Exif\0\0", a big-endian TIFF block with one SHORT entry, tag 0x0112.
  const tiff = [0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation, 0, 0, 0, 0, 0, 0];
  const body = [0x45, 0x78, 0x69, 0x66, 0, 0, ...tiff];
  return Uint8Array.from([0xff, 0xd8, 0xff, 0xe1, 0, body.length + 2, ...body, ...plain.subarray(2)]);
}

/** A filled box as mask. */
export function boxMask(height: number, width: number, x: number, y: number, w: number, h: number): Rle {
  const pixels = new Uint8Array(height * width);
  for (let row = y; row < y + h; row++) pixels.fill(1, row * width + x, row * width + x + w);
  return encodeRle(pixels, height, width);
}

/** One good row; parts can be replaced. */
export function row(changes: Partial<ShardRow> = {}, caption = "A red box."): ShardRow {
  return {
    image: { bytes: png(32, 24), path: "a.jpg" },
    mask: boxMask(24, 32, 4, 3, 10, 8),
    conversations: [
      { from: "human", value: "<image>\nDescribe the masked region." },
      { from: "gpt", value: caption },
    ],
    category: ["box"],
    ...changes,
  };
}

/** Counts the bytes that are read from a folder's sources. */
export function counting(folder: ByteFolder): ByteFolder & { readonly bytes: number } {
  let bytes = 0;
  return {
    paths: folder.paths,
    get: (path) => {
      const source: ByteSource | undefined = folder.get(path);
      if (source === undefined) return undefined;
      const read = (start: number, end: number): Promise<Uint8Array<ArrayBuffer>> => {
        bytes += end - start;
        return source.read(start, end);
      };
      return { name: source.name, size: source.size, read };
    },
    get bytes() {
      return bytes;
    },
  };
}
