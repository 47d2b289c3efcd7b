import { pointProgram, runPoints } from "../rows-program.ts";
import { customKernels, defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";

/** cos and sin of the rotary angles, [B or 1, 1, T, d/2] each; owned by the caller. */
export interface RopeTable {
  readonly cos: Tensor;
  readonly sin: Tensor;
}

/**
 * Half-split rotary embedding: x = [a | b] → [a cos − b sin | b cos + a sin] (docs/spec/sa2va.md#11-language-models).
 * @param x [B, H, T, d]
 */
export function applyRope(x: Tensor, table: RopeTable): Tensor {
  if (customKernels() && suits(x, table.cos, table.sin)) {
    return customRope({ x, cos: table.cos, sin: table.sin })[0] as Tensor;
  }
  return tf.tidy(() => {
    const half = (x.shape[3] as number) / 2;
    const [a, b] = tf.split(x as tf.Tensor4D, [half, half], 3) as [Tensor, Tensor];
    return tf.concat([a.mul(table.cos).sub(b.mul(table.sin)), b.mul(table.cos).add(a.mul(table.sin))], 3);
  });
}

/**
 * Angles position · theta^(−2k/d) computed in double precision.
 * @param positions per row, [B][T] or one shared row
 */
export function ropeTable(positions: readonly (readonly number[])[], headWidth: number, theta: number): RopeTable {
  const frequencies = Array.from({ length: headWidth / 2 }, (_, k) => theta ** ((-2 * k) / headWidth));
  return angleTable(positions, frequencies, 1);
}

/** Place of a token: its position, or the coordinates order, row and column; all three are equal in text. */
export type Place = number | readonly [order: number, row: number, column: number];

/**
 * Angles position · frequency, with cos and sin multiplied by the amplitude, computed in double precision.
 * @param positions per row, [B][T] or one shared row
 * @param frequencies radians per position of each pair of channels, [d/2]
 * @param axes the coordinate that each pair turns by; the first by default
 */
export function angleTable(
  positions: readonly (readonly Place[])[],
  frequencies: readonly number[],
  amplitude: number,
  axes?: readonly number[],
): RopeTable {
  const rows = positions.length;
  const length = positions[0]?.length ?? 0;
  const half = frequencies.length;
  const cos = new Float32Array(rows * length * half);
  const sin = new Float32Array(rows * length * half);
  let at = 0;
  for (const row of positions) {
    for (const position of row) {
      for (const [pair, frequency] of frequencies.entries()) {
        const along = typeof position === "number" ? position : (position[axes?.[pair] ?? 0] as number);
        cos[at] = amplitude * Math.cos(along * frequency);
        sin[at++] = amplitude * Math.sin(along * frequency);
      }
    }
  }
  const shape: [number, number, number, number] = [rows, 1, length, half];
  return { cos: tf.tensor4d(cos, shape), sin: tf.tensor4d(sin, shape) };
}

const ROPE = pointProgram({
  name: "lab-rope",
  inputs: { x: "f32", cos_table: "f32", sin_table: "f32" },
  outputs: { result: "f32" },
  uniforms: { size: "u32", pairs: "u32", length: "u32", heads: "u32", tableBatch: "u32", sign: "f32" },
  body: `
    let k = i % u.pairs;
    let row = i / u.pairs;
    let at = (row / (u.length * u.heads)) * u.tableBatch + (row % u.length) * u.pairs + k;
    let c = cos_table[at];
    let s = sin_table[at] * u.sign;
    let first = row * 2u * u.pairs + k;
    let second = first + u.pairs;
    let a = x[first];
    let b = x[second];
    result[first] = a * c - b * s;
    result[second] = b * c + a * s;`,
});

/** Rotates by the table's angles, or back with sign −1, which also computes the gradient. */
function rotate(x: tf.TensorInfo, cos: tf.TensorInfo, sin: tf.TensorInfo, sign: number): tf.TensorInfo {
  const [, heads, length, width] = x.shape as [number, number, number, number];
  const pairs = width / 2;
  const tableBatch = cos.shape[0] === 1 ? 0 : length * pairs;
  const size = tf.util.sizeFromShape(x.shape) / 2;
  const uniforms = [pairs, length, heads, tableBatch, sign];
  return runPoints(ROPE, [x, cos, sin], [{ shape: x.shape }], size, uniforms)[0] as tf.TensorInfo;
}

const customRope = defineOp({
  name: "LabRope",
  saved: ["cos", "sin"],
  forward({ x, cos, sin }) {
    return [rotate(x as tf.TensorInfo, cos as tf.TensorInfo, sin as tf.TensorInfo, 1)];
  },
  gradient: ([dy], [cos, sin]) => ({ x: () => toTensor(rotate(dy as Tensor, cos as Tensor, sin as Tensor, -1)) }),
});
