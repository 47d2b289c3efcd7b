/** LZ4 and ZSTD frames written here: valid ones of changed contents, and small ones that claim a huge size. */
import { type Bytes, joined } from "./bytes.ts";

export type Codec = "lz4" | "zstd";

const u32 = (value: number): Uint8Array => new Uint8Array(Uint32Array.of(value).buffer);
const PRIME = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1] as const;
const rotated = (value: number, by: number): number => (value << by) | (value >>> (32 - by));

/** xxHash32 of fewer than 16 bytes, seed 0. */
function shortHash(bytes: readonly number[]): number {
  let hash = (PRIME[4] + bytes.length) | 0;
  for (const byte of bytes) hash = Math.imul(rotated((hash + Math.imul(byte, PRIME[4])) | 0, 11), PRIME[0]);
  hash = Math.imul(hash ^ (hash >>> 15), PRIME[1]);
  hash = Math.imul(hash ^ (hash >>> 13), PRIME[2]);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const LZ4_BLOCK = 4 * 2 ** 20;

function lz4Frame(blocks: readonly Uint8Array[], plain: boolean): Bytes {
  // Version 1, independent blocks, no checksums of contents; blocks of at most 4 MiB.
  const descriptor = [0x60, 0x70];
  const head = Uint8Array.from([0x04, 0x22, 0x4d, 0x18, ...descriptor, (shortHash(descriptor) >>> 8) & 255]);
  const body = blocks.flatMap((block) => [u32(plain ? (block.length | 0x8000_0000) >>> 0 : block.length), block]);
  return joined(head, ...body, u32(0));
}

function pieces(bytes: Uint8Array, size: number): Uint8Array[] {
  const count = Math.ceil(bytes.length / size);
  return Array.from({ length: count }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

/** One LZ4 block: a zero, a match of about `length` bytes with the byte before it, and five zeros at the end. */
function lz4Run(length: number): Uint8Array {
  const more = Math.floor((length - 19) / 255);
  const run = [0x1f, 0, 1, 0, ...Array<number>(more).fill(255), (length - 19) % 255];
  return Uint8Array.from([...run, 0x50, 0, 0, 0, 0, 0]);
}

/** A ZSTD frame without size and checksum; kind 0 is plain, kind 1 repeats one byte. */
function zstdFrame(
  blocks: readonly { readonly kind: 0 | 1; readonly size: number; readonly bytes: Uint8Array }[],
): Bytes {
  const head = Uint8Array.from([0x28, 0xb5, 0x2f, 0xfd, 0, 0x60]);
  const body = blocks.flatMap(({ kind, size, bytes }, at) => {
    const header = (size << 3) | (kind << 1) | (at === blocks.length - 1 ? 1 : 0);
    return [u32(header).subarray(0, 3), bytes];
  });
  return joined(head, ...body);
}

const ZSTD_BLOCK = 2 ** 17;

/** An uncompressed frame of these contents. */
export function packed(codec: Codec, contents: Uint8Array): Bytes {
  if (codec === "lz4") return lz4Frame(pieces(contents, LZ4_BLOCK), true);
  const blocks = pieces(contents, ZSTD_BLOCK).map((bytes) => ({ kind: 0 as const, size: bytes.length, bytes }));
  return zstdFrame(blocks.length === 0 ? [{ kind: 0, size: 0, bytes: new Uint8Array() }] : blocks);
}

/** A frame of kilobytes that unpacks to `size` bytes. */
export function bomb(codec: Codec, size: number): Bytes {
  if (codec === "lz4")
    return lz4Frame(Array<Uint8Array>(Math.ceil(size / LZ4_BLOCK)).fill(lz4Run(LZ4_BLOCK - 8)), false);
  const block = { kind: 1 as const, size: ZSTD_BLOCK, bytes: Uint8Array.of(0) };
  return zstdFrame(Array(Math.ceil(size / ZSTD_BLOCK)).fill(block));
}
