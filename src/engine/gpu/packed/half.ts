/**
 * Products with packed rows in half precision, for cards with `shader-f16`: elements are multiplied in f16, eight
 * products are summed in f16, and those sums in f32. That is more precise than bfloat16, which has three bits fewer.
 * Half precision ends at 65,504, so each row of the left operand is scaled to a fixed range by a power of two, and
 * packed elements by one per storage. Both factors are divided out of the sums, without loss.
 */
import { type RowProgram, runRows } from "../rows-program.ts";
import type { tf } from "../tf.ts";
import type { WeightStorage } from "./storage.ts";

/** Precision in which products with packed matrices are computed; sums are f32 in both cases. */
export type Arithmetic = "f32" | "f16";

/** Steps of K that a tiled product for cards writes out; in half precision their sum is added to the f32 sum. */
export const K_RUN = 8;

/** The largest element of a row of the left operand is scaled to between 2 to this power and twice as much. */
const TOP = 8;

const WEIGHT_FACTORS: Readonly<Record<WeightStorage, number>> = { f32: 1, f16: 2 ** -15, q8: 2 ** -7, q4: 2 ** -4 };

/**
 * Scales packed elements (group scales applied) to at most about 1: in f16 they are at most 2¹⁵, bytes at most 127 and
 * nibbles at most 8, times a scale of about 1. A run then stays below 2¹³, far from overflow. Elements in f32 have no
 * known range; they are not multiplied in half precision.
 */
export function weightFactor(storage: WeightStorage): number {
  return WEIGHT_FACTORS[storage];
}

/** A row of zeros, or one whose largest element is not finite, gets the nearest representable factor. */
const ROW_FACTORS: RowProgram = {
  name: "lab-packed-row-factors",
  inputs: { x: "f32" },
  outputs: { result: "f32" },
  uniforms: { rows: "u32", width: "u32" },
  body: `
    var most = 0.0;
    for (var i = first; i < u.width; i += step) { most = max(most, abs(x[row * u.width + i])); }
    most = largest(most, lane);
    let exponent = clamp(bitcast<u32>(most) >> 23u, ${TOP + 1}u, 253u);
    if (lane == 0u) { result[row] = bitcast<f32>((${254 + TOP}u - exponent) << 23u); }`,
};

/**
 * Powers of two that bring each row's largest element to [2⁸, 2⁹).
 * @param x [rows, width]
 * @returns [rows]
 */
export function rowFactors(x: tf.TensorInfo): tf.TensorInfo {
  const [rows, width] = x.shape as [number, number];
  return runRows(ROW_FACTORS, [x], [{ shape: [rows] }], rows, width)[0] as tf.TensorInfo;
}
