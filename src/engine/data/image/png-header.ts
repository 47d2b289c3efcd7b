import { crc32 } from "../../bytes/crc.ts";
import { viewOf } from "../../bytes/memory.ts";

/** Allowed bits per channel by colour type: grey, colour, palette, grey with alpha, colour with alpha. */
const DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const IHDR = 0x49484452;

/** Whether bytes begin with the PNG signature. */
export function isPngHead(head: Uint8Array): boolean {
  return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a].every((byte, at) => head[at] === byte);
}

/**
 * The problem of a PNG's header chunk, as the rest of a sentence; undefined if it is valid.
 * @param head at least the first 33 bytes of the file
 */
export function pngProblem(head: Uint8Array): string | undefined {
  const view = viewOf(head);
  if (view.getUint32(8) !== 13 || view.getUint32(12) !== IHDR) return "does not begin with its size";
  const [depth, colour, compression, filter, interlace] = head.subarray(24, 29);
  if (DEPTHS[colour as number]?.includes(depth as number) !== true) {
    return `declares ${depth} bits of colour type ${colour}, which PNG does not allow`;
  }
  if (compression !== 0 || filter !== 0 || (interlace as number) > 1)
    return "declares a method that PNG does not allow";
  if (view.getUint32(29) !== crc32(head.subarray(12, 29))) return "is damaged: its checksum does not match";
  return undefined;
}

/** Unpacked bytes of a PNG's pixels with filters; an upper bound for interlaced pictures. */
export function pngBytes(head: Uint8Array): number {
  const view = viewOf(head);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const bits = (CHANNELS[view.getUint8(25)] ?? 4) * view.getUint8(24);
  // Each row of the seven passes of an interlaced picture starts at a byte and has a filter.
  const parts = view.getUint8(28) === 0 ? 0 : 2 * (height + 7) + 64;
  return height * (1 + Math.ceil((width * bits) / 8)) + 2 * parts;
}
