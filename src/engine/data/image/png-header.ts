import { viewOf } from "../../bytes/memory.ts";

/** Bits a channel by colour type: grey, colour, palette, grey with alpha, colour with alpha. */
const DEPTHS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};
const CHANNELS: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const IHDR = 0x49484452;

/** Whether bytes begin as every PNG does. */
export function isPngHead(head: Uint8Array): boolean {
  return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a].every((byte, at) => head[at] === byte);
}

/**
 * What is wrong with a PNG's header chunk, as the rest of a sentence; undefined when nothing is.
 * @param head at least the first 33 bytes of the file
 */
export function pngProblem(head: Uint8Array): string | undefined {
  const view = viewOf(head);
  if (view.getUint32(8) !== 13 || view.getUint32(12) !== IHDR) return "does not begin with its size";
  const [depth, colour, compression, filter, interlace] = head.subarray(24, 29);
  if (DEPTHS[colour as number]?.includes(depth as number) !== true) {
    return `states ${depth} bits of colour type ${colour}, which PNG does not have`;
  }
  if (compression !== 0 || filter !== 0 || (interlace as number) > 1) return "states a method that PNG does not have";
  if (view.getUint32(29) !== crc32(head.subarray(12, 29))) return "is damaged: its checksum does not fit";
  return undefined;
}

/** Bytes that the pixels of a PNG unpack to, filters included; of an interlaced one a little more than that. */
export function pngBytes(head: Uint8Array): number {
  const view = viewOf(head);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const bits = (CHANNELS[view.getUint8(25)] ?? 4) * view.getUint8(24);
  // Each of the seven parts of an interlaced picture begins its rows at a byte and with a filter.
  const parts = view.getUint8(28) === 0 ? 0 : 2 * (height + 7) + 64;
  return height * (1 + Math.ceil((width * bits) / 8)) + 2 * parts;
}

/** CRC-32 of a few bytes (ISO 3309), as PNG has it. */
function crc32(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}
