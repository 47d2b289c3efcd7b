/** Fixed-width values from bytes, the same for every container: 64-bit integers are big integers. */
import type { ColumnType } from "./column-type.ts";

/** Reads the value at a byte offset of a view. */
export type ReadNumber = (data: DataView, at: number) => number | bigint;

/** Little-endian reader of a fixed-width type; undefined for other types. */
export function numberReader(type: ColumnType): ReadNumber | undefined {
  if (type.kind === "float") return FLOATS[type.bits];
  if (type.kind === "int") return (type.signed ? SIGNED : UNSIGNED)[type.bits];
  return type.kind === "other" ? SIGNED[type.width * 8] : undefined;
}

const SIGNED: Readonly<Record<number, ReadNumber>> = {
  8: (data, at) => data.getInt8(at),
  16: (data, at) => data.getInt16(at, true),
  32: (data, at) => data.getInt32(at, true),
  64: (data, at) => data.getBigInt64(at, true),
};

const UNSIGNED: Readonly<Record<number, ReadNumber>> = {
  8: (data, at) => data.getUint8(at),
  16: (data, at) => data.getUint16(at, true),
  32: (data, at) => data.getUint32(at, true),
  64: (data, at) => data.getBigUint64(at, true),
};

const FLOATS: Readonly<Record<number, ReadNumber>> = {
  16: (data, at) => float16(data.getUint16(at, true)),
  32: (data, at) => data.getFloat32(at, true),
  64: (data, at) => data.getFloat64(at, true),
};

/** Value of a half: 1 sign, 5 exponent and 10 fraction bits. */
function float16(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return fraction === 0 ? sign * Infinity : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}
