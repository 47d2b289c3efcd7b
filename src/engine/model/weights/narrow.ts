/** Converts single precision to the shorter element types of a file, rounding to nearest, ties to even. */
import { LabError } from "../../errors.ts";
import type { Dtype } from "../../formats/dtype.ts";

/** Element types of a written checkpoint. */
export type FloatDtype = Extract<Dtype, "F32" | "F16" | "BF16">;

/** The elements' little-endian bytes. NaN stays NaN; values too large for F16 become infinite, as in a cast. */
export function fromFloat32(values: Float32Array<ArrayBuffer>, dtype: FloatDtype): Uint8Array<ArrayBuffer> {
  if (dtype === "F32") return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const words = new Uint16Array(values.length);
  const convert = dtype === "BF16" ? brainWord : halfWord;
  for (let at = 0; at < words.length; at++) words[at] = convert(bits[at] as number);
  return new Uint8Array(words.buffer);
}

/** @throws LabError("bad-input") for another name */
export function parseFloatDtype(name: string): FloatDtype {
  const upper = name.toUpperCase();
  if (upper === "F32" || upper === "F16" || upper === "BF16") return upper;
  throw new LabError("bad-input", `"${name}" is no element type to write; f32, f16 and bf16 are`, { subject: name });
}

function brainWord(bits: number): number {
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}

function halfWord(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return sign | 0x7e00;
  // 65520 and above round beyond the largest half.
  if (rest >= 0x477ff000) return sign | 0x7c00;
  if (rest >= 0x38800000) return sign | ((rest - 0x38000000 + 0xfff + ((rest >>> 13) & 1)) >>> 13);
  // Below half the smallest subnormal, and its tie to even.
  if (rest <= 0x33000000) return sign;
  const exponent = rest >>> 23;
  const fraction = (rest & 0x7fffff) | 0x800000;
  const shift = 126 - exponent;
  const kept = fraction >>> shift;
  const cut = fraction & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return sign | (kept + (cut > half || (cut === half && (kept & 1) === 1) ? 1 : 0));
}
