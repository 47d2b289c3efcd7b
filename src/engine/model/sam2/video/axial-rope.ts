/**
 * Axial rotary embedding of SAM2's memory attention (docs/spec/video.md#5-memory-attention). The published code rotates
 * neighbouring channels. Here the rows of the query and key projections are reordered alike, which changes no product,
 * so that the half-split rotation of the language models applies.
 */
import { linear } from "../../../gpu/kernels/linear.ts";
import type { RopeTable } from "../../../gpu/kernels/rope.ts";
import { type Tensor, tf } from "../../../gpu/tf.ts";
import type { Weights } from "../../weights/weights.ts";

const THETA = 10000;

/**
 * Angles of every cell: the first half of the channel pairs rotate by the column's index, the second half by the row's.
 * @param channels of the single head, a multiple of 4
 * @returns [1, 1, height · width, channels / 2] each; owned by the caller
 */
export function axialTable(height: number, width: number, channels: number): RopeTable {
  const half = channels / 2;
  const quarter = channels / 4;
  const cos = new Float32Array(height * width * half);
  const sin = new Float32Array(cos.length);
  const frequencies = Float64Array.from({ length: quarter }, (_, j) => THETA ** ((-4 * j) / channels));
  let at = 0;
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      for (let pair = 0; pair < half; pair++, at++) {
        const angle = (pair < quarter ? column : row) * (frequencies[pair % quarter] as number);
        cos[at] = Math.cos(angle);
        sin[at] = Math.sin(angle);
      }
    }
  }
  const shape: [number, number, number, number] = [1, 1, height * width, half];
  return { cos: tf.tensor4d(cos, shape), sin: tf.tensor4d(sin, shape) };
}

/**
 * A query or key projection whose output has the first channels of all pairs before the second channels.
 * @param x [..., in]
 * @returns [..., C]
 */
export function pairedLinear(w: Weights, path: string, x: Tensor): Tensor {
  return tf.tidy(() => {
    const weight = w.get(`${path}.weight`);
    const [out, into] = weight.shape as [number, number];
    const rows = weight
      .reshape([out / 2, 2, into])
      .transpose([1, 0, 2])
      .reshape([out, into]);
    const bias = w
      .get(`${path}.bias`)
      .reshape([out / 2, 2])
      .transpose()
      .reshape([out]);
    return linear(x, rows, bias);
  });
}
