import { type Tensor, tf } from "../tf.ts";

/** cos and sin of the rotary angles, [B or 1, 1, T, d/2] each; owned by the caller. */
export interface RopeTable {
  readonly cos: Tensor;
  readonly sin: Tensor;
}

/**
 * Half-split rotary embedding: x = [a | b] → [a cos − b sin | b cos + a sin] (reference: sa2va.md §11).
 * @param x [B, H, T, d]
 */
export function applyRope(x: Tensor, table: RopeTable): Tensor {
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
  const half = headWidth / 2;
  const rows = positions.length;
  const length = positions[0]?.length ?? 0;
  const cos = new Float32Array(rows * length * half);
  const sin = new Float32Array(rows * length * half);
  let at = 0;
  for (const row of positions) {
    for (const position of row) {
      for (let k = 0; k < half; k++) {
        const angle = position * theta ** ((-2 * k) / headWidth);
        cos[at] = Math.cos(angle);
        sin[at++] = Math.sin(angle);
      }
    }
  }
  const shape: [number, number, number, number] = [rows, 1, length, half];
  return { cos: tf.tensor4d(cos, shape), sin: tf.tensor4d(sin, shape) };
}
