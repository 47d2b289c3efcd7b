/** Element types of safetensors files and their conversion to single precision. */
import { LabError } from "../errors.ts";

/** Supported types; reading a tensor of another type fails with its name. */
export const DTYPE_BYTES = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, I16: 2, I8: 1, U8: 1, BOOL: 1 } as const;
export type Dtype = keyof typeof DTYPE_BYTES;

export function isDtype(name: string): name is Dtype {
  return Object.hasOwn(DTYPE_BYTES, name);
}

/**
 * Little-endian elements as f32. 64-bit types are rounded; F16 and BF16 convert exactly, NaN and infinity included.
 * @param bytes a whole number of elements, at any alignment
 */
export function toFloat32(bytes: Uint8Array<ArrayBuffer>, dtype: Dtype): Float32Array<ArrayBuffer> {
  const count = bytes.length / DTYPE_BYTES[dtype];
  if (!Number.isInteger(count))
    throw new LabError("internal", `${bytes.length} bytes are not a whole number of ${dtype}`);
  // Typed views need an aligned start, which a slice of a file may not have.
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice();
  const { buffer, byteOffset } = aligned;
  switch (dtype) {
    case "F32":
      return new Float32Array(buffer, byteOffset, count);
    case "F64":
      return Float32Array.from(new Float64Array(buffer, byteOffset, count));
    case "F16":
      return halfToFloat(new Uint16Array(buffer, byteOffset, count));
    case "BF16":
      return brainToFloat(new Uint16Array(buffer, byteOffset, count));
    case "I64":
      return Float32Array.from(new BigInt64Array(buffer, byteOffset, count), Number);
    case "I32":
      return Float32Array.from(new Int32Array(buffer, byteOffset, count));
    case "I16":
      return Float32Array.from(new Int16Array(buffer, byteOffset, count));
    case "I8":
      return Float32Array.from(new Int8Array(buffer, byteOffset, count));
    case "U8":
    case "BOOL":
      return Float32Array.from(aligned);
  }
}

/** bfloat16 is the upper half of a float32. */
function brainToFloat(words: Uint16Array): Float32Array<ArrayBuffer> {
  const bits = new Uint32Array(words.length);
  for (let at = 0; at < words.length; at++) bits[at] = (words[at] as number) << 16;
  return new Float32Array(bits.buffer);
}

let halfTable: Uint32Array | undefined;

/** Table of the single-precision bits of all 65,536 half-precision numbers. */
function halfToFloat(words: Uint16Array): Float32Array<ArrayBuffer> {
  halfTable ??= Uint32Array.from({ length: 0x10000 }, (_, half) => halfBits(half));
  const bits = new Uint32Array(words.length);
  for (let at = 0; at < words.length; at++) bits[at] = halfTable[words[at] as number] as number;
  return new Float32Array(bits.buffer);
}

function halfBits(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return (sign | 0x7f800000 | (fraction << 13)) >>> 0;
  if (exponent !== 0) return (sign | ((exponent + 112) << 23) | (fraction << 13)) >>> 0;
  if (fraction === 0) return sign >>> 0;
  // Subnormal: shift until the implicit leading one appears.
  const shift = Math.clz32(fraction) - 21;
  return (sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13)) >>> 0;
}
