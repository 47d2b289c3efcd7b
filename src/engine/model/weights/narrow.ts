/** Converts single precision to the shorter element types of a file, rounding to nearest, ties to even. */
import { badInput } from "../../errors.ts";
import type { Dtype } from "../../formats/safetensors.ts";
import { toHalf } from "../../gpu/packed/quantise.ts";

/** Element types of a written checkpoint. */
export type FloatDtype = Extract<Dtype, "F32" | "F16" | "BF16">;

/** The elements' little-endian bytes. NaN stays NaN; values too large for F16 become infinite, as in a cast. */
export function fromFloat32(values: Float32Array<ArrayBuffer>, dtype: FloatDtype): Uint8Array<ArrayBuffer> {
  if (dtype === "F32") return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  const words = new Uint16Array(values.length);
  if (dtype === "F16") for (let at = 0; at < words.length; at++) words[at] = toHalf(values[at] as number);
  else {
    const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
    for (let at = 0; at < words.length; at++) words[at] = brainWord(bits[at] as number);
  }
  return new Uint8Array(words.buffer);
}

/** @throws LabError("bad-input") for another name */
export function parseFloatDtype(name: string): FloatDtype {
  const upper = name.toUpperCase();
  if (upper === "F32" || upper === "F16" || upper === "BF16") return upper;
  throw badInput(`"${name}" is not an element type to write; use f32, f16 or bf16`, name);
}

function brainWord(bits: number): number {
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}
