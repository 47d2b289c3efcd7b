/** Decoder of LZ4 frames (lz4_Frame_format.md 1.6) with bounds checks; its time is linear in input and output. */
import { viewOf } from "../../engine/bytes/source.ts";

const MAGIC = 0x184d2204;
/** Maximum block size in bytes by the descriptor's size code, starting at 4. */
const BLOCK_SIZES = [2 ** 16, 2 ** 18, 2 ** 20, 2 ** 22];
const STORED = 0x80000000;
const MIN_MATCH = 4;
const WINDOW = 65_535;
/** Maximum compression ratio of an LZ4 block: each byte adds at most 255 to a length. */
export const LZ4_RATIO = 255;

/**
 * Content of one LZ4 frame; bytes after the frame are ignored.
 * @param size bytes of the content
 * @throws RangeError with the rest of a sentence when the frame is damaged or its content has another size
 */
export function decodeLz4Frame(frame: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  if (size > frame.length * LZ4_RATIO) throw new RangeError(`${frame.length} packed bytes cannot hold ${size} bytes`);
  const view = viewOf(frame);
  if (frame.length < 7 || view.getUint32(0, true) !== MAGIC) throw new RangeError("it is not an LZ4 frame");
  const [flags, kind] = [view.getUint8(4), view.getUint8(5)];
  const largest = BLOCK_SIZES[((kind >> 4) & 7) - 4];
  // Version 1; bit 1 of the flags and the bits of the second byte around the block size are reserved.
  if (flags >> 6 !== 1 || (flags & 2) !== 0 || (kind & 0x8f) !== 0 || largest === undefined) {
    throw new RangeError("the version of its LZ4 frame is not supported");
  }
  const [independent, blockChecks] = [(flags & 32) !== 0, (flags & 16) !== 0];
  let at = 6;
  if ((flags & 8) !== 0) {
    if (view.getBigUint64(at, true) !== BigInt(size)) throw new RangeError("its LZ4 frame declares another size");
    at += 8;
  }
  if ((flags & 1) !== 0) throw new RangeError("its LZ4 frame needs a dictionary");
  if (view.getUint8(at) !== ((xxHash32(frame.subarray(4, at)) >>> 8) & 255)) {
    throw new RangeError("the header of its LZ4 frame is damaged");
  }
  at++;
  const out = new Uint8Array(size);
  let written = 0;
  while (true) {
    const header = view.getUint32(at, true);
    at += 4;
    if (header === 0) break;
    const length = header & ~STORED;
    if (length > largest || at + length > frame.length) throw new RangeError("a block extends beyond its LZ4 frame");
    const block = frame.subarray(at, at + length);
    at += length;
    if (blockChecks) at = check(view, at, block);
    const room = out.subarray(0, Math.min(size, written + largest));
    if (header >= STORED) {
      if (written + length > room.length) throw new RangeError("it holds more bytes than it declares");
      out.set(block, written);
      written += length;
    } else {
      written = decodeBlock(block, room, written, independent ? written : 0);
    }
  }
  if (written !== size) throw new RangeError(`it holds ${written} bytes but declares ${size}`);
  if ((flags & 4) !== 0) check(view, at, out);
  return out;
}

/**
 * Content of one LZ4 block without a frame.
 * @param size bytes of the content
 * @throws RangeError with the rest of a sentence when the block is damaged or its content has another size
 */
export function decodeLz4Block(block: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  if (size > block.length * LZ4_RATIO) throw new RangeError(`${block.length} packed bytes cannot hold ${size} bytes`);
  const out = new Uint8Array(size);
  const written = decodeBlock(block, out, 0, 0);
  if (written !== size) throw new RangeError(`it holds ${written} bytes but declares ${size}`);
  return out;
}

/** Verifies the checksum of the bytes. @returns the position after it */
function check(view: DataView, at: number, bytes: Uint8Array): number {
  if (view.getUint32(at, true) !== xxHash32(bytes)) throw new RangeError("a checksum does not match");
  return at + 4;
}

/**
 * Decodes one block into `out`, starting at `written`.
 * @param from first byte of the output that a match may refer to
 * @returns the position after the last byte written
 */
function decodeBlock(block: Uint8Array, out: Uint8Array, written: number, from: number): number {
  let [at, to] = [0, written];
  const next = (): number => {
    if (at >= block.length) throw new RangeError("a block ends inside a sequence");
    return block[at++] as number;
  };
  const lengthFrom = (nibble: number): number => {
    let length = nibble;
    if (nibble < 15) return length;
    let more: number;
    do {
      more = next();
      length += more;
    } while (more === 255);
    return length;
  };
  while (at < block.length) {
    const token = next();
    const literals = lengthFrom(token >> 4);
    if (at + literals > block.length) throw new RangeError("a block ends inside a sequence");
    if (to + literals > out.length) throw new RangeError("it holds more bytes than it declares");
    out.set(block.subarray(at, at + literals), to);
    at += literals;
    to += literals;
    // The last sequence of a block has no match.
    if (at === block.length) return to;
    const back = next() + 256 * next();
    const length = lengthFrom(token & 15) + MIN_MATCH;
    if (back === 0 || back > WINDOW || to - back < from)
      throw new RangeError("a match refers to bytes before the content");
    if (to + length > out.length) throw new RangeError("it holds more bytes than it declares");
    repeat(out, to, back, length);
    to += length;
  }
  return to;
}

/** Copies `length` bytes from `back` bytes before `to`; if `back` is smaller than `length`, the bytes repeat. */
export function repeat(out: Uint8Array, to: number, back: number, length: number): void {
  if (length < 32) {
    for (let at = to; at < to + length; at++) out[at] = out[at - back] as number;
    return;
  }
  // The copied range doubles each time, because source and destination are adjacent.
  let done = 0;
  while (done < length) {
    const piece = Math.min(back + done, length - done);
    out.copyWithin(to + done, to - back, to - back + piece);
    done += piece;
  }
}

const PRIMES = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1] as const;

/** xxHash32 with seed 0 (xxhash_spec.md), as an unsigned number. */
export function xxHash32(bytes: Uint8Array): number {
  const view = viewOf(bytes);
  const turn = (value: number, by: number): number => (value << by) | (value >>> (32 - by));
  const [p1, p2, p3, p4, p5] = PRIMES;
  let at = 0;
  let hash = p5 | 0;
  if (bytes.length >= 16) {
    const lanes = [(p1 + p2) | 0, p2 | 0, 0, -p1 | 0] as [number, number, number, number];
    for (; at + 16 <= bytes.length; at += 16) {
      for (let lane = 0; lane < 4; lane++) {
        const sum = ((lanes[lane] as number) + Math.imul(view.getUint32(at + 4 * lane, true), p2)) | 0;
        lanes[lane] = Math.imul(turn(sum, 13), p1);
      }
    }
    hash = (turn(lanes[0], 1) + turn(lanes[1], 7) + turn(lanes[2], 12) + turn(lanes[3], 18)) | 0;
  }
  hash = (hash + bytes.length) | 0;
  for (; at + 4 <= bytes.length; at += 4) {
    hash = Math.imul(turn((hash + Math.imul(view.getUint32(at, true), p3)) | 0, 17), p4);
  }
  for (; at < bytes.length; at++) hash = Math.imul(turn((hash + Math.imul(bytes[at] as number, p5)) | 0, 11), p1);
  hash = Math.imul(hash ^ (hash >>> 15), p2);
  hash = Math.imul(hash ^ (hash >>> 13), p3);
  return (hash ^ (hash >>> 16)) >>> 0;
}
