/** Damage to bytes, independent of their format. */
import fc, { type Arbitrary } from "fast-check";

export type Bytes = Uint8Array<ArrayBuffer>;

/** A change of one file. */
export interface Damage {
  readonly what: string;
  apply(bytes: Bytes): Bytes;
}

export function joined(...parts: readonly Uint8Array[]): Bytes {
  return new Uint8Array(Buffer.concat(parts));
}

/** Values for lengths, counts and offsets that are likely to be wrong. */
export const LIES: readonly bigint[] = [
  0n,
  1n,
  -1n,
  2n,
  7n,
  255n,
  256n,
  65_535n,
  65_536n,
  2n ** 24n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 32n,
  2n ** 40n,
  2n ** 53n,
  2n ** 62n,
  2n ** 63n - 1n,
  -(2n ** 31n),
  -(2n ** 63n),
];

const place = (bytes: Bytes, at: number): number => Math.floor(at * Math.max(0, bytes.length - 1));
/** A position as a share of the whole, uniformly drawn. */
export const share: Arbitrary<number> = fc.noBias(fc.nat(9999)).map((part) => part / 9999);
const length = fc.integer({ min: 1, max: 64 });

function filled(bytes: Bytes, value: number, from: number, to: number): Bytes {
  return new Uint8Array(bytes).fill(value, from, to);
}

/** Writes a little-endian integer of 2, 4 or 8 bytes at an offset, as far as it lies inside. */
export function written(bytes: Bytes, at: number, value: bigint, size: number): Bytes {
  const word = new Uint8Array(8);
  new DataView(word.buffer).setBigInt64(0, BigInt.asIntN(64, value), true);
  const now = new Uint8Array(bytes);
  now.set(word.subarray(0, Math.max(0, Math.min(size, now.length - at))), Math.min(at, now.length));
  return now;
}

const byte = fc.tuple(share, fc.nat(255)).map(([at, value]) => ({
  what: `byte ${value} at ${at}`,
  apply: (bytes: Bytes) => filled(bytes, value, place(bytes, at), place(bytes, at) + 1),
}));
const cut = share.map((at) => ({
  what: `cut at ${at}`,
  apply: (bytes: Bytes) => bytes.slice(0, place(bytes, at)),
}));
const zeros = fc.tuple(share, length).map(([at, many]) => ({
  what: `${many} zeros at ${at}`,
  apply: (bytes: Bytes) => filled(bytes, 0, place(bytes, at), place(bytes, at) + many),
}));
const integer = fc.tuple(share, fc.constantFrom(...LIES), fc.constantFrom(2, 4, 8)).map(([at, value, size]) => ({
  what: `${size} bytes of ${value} at ${at}`,
  apply: (bytes: Bytes) => written(bytes, place(bytes, at) & -size, value, size),
}));
const repeat = fc.tuple(share, length).map(([at, many]) => ({
  what: `${many} bytes repeated at ${at}`,
  apply: (bytes: Bytes) => {
    const from = place(bytes, at);
    return joined(bytes.subarray(0, from), bytes.subarray(from, from + many), bytes.subarray(from));
  },
}));
const remove = fc.tuple(share, length).map(([at, many]) => ({
  what: `${many} bytes removed at ${at}`,
  apply: (bytes: Bytes) => joined(bytes.subarray(0, place(bytes, at)), bytes.subarray(place(bytes, at) + many)),
}));

/** One damage that ignores the format. */
export const BYTE_DAMAGE: Arbitrary<Damage> = fc.oneof(
  { arbitrary: byte, weight: 3 },
  { arbitrary: integer, weight: 3 },
  cut,
  zeros,
  repeat,
  remove,
);
