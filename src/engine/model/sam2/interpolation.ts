import { type Tensor, tf } from "../../gpu/tf.ts";

const CUBIC_A = -0.75;

/**
 * Bicubic resize as PyTorch does it for position embeddings: a = −0.75, half-pixel centres, border taps clamped, no
 * antialiasing (docs/spec/sa2va.md#13-sam2-image-encoder). It is separable: one product per axis, without a read-back.
 * @param x [B, h, w, C]
 * @returns [B, height, width, C]
 */
export function resizeBicubicClamped(x: Tensor, height: number, width: number): Tensor {
  return tf.tidy(() => {
    const [batch, inHeight, inWidth, channels] = x.shape as [number, number, number, number];
    const rows = tf.tensor2d(bicubicMatrix(inHeight, height), [height, inHeight]);
    const cols = tf.tensor2d(bicubicMatrix(inWidth, width), [width, inWidth]);
    const flat = x.transpose([1, 0, 2, 3]).reshape([inHeight, -1]) as tf.Tensor2D;
    const tall = tf.matMul(rows, flat).reshape([height, batch, inWidth, channels]);
    const turned = tall.transpose([2, 1, 0, 3]).reshape([inWidth, -1]) as tf.Tensor2D;
    return tf.matMul(cols, turned).reshape([width, batch, height, channels]).transpose([1, 2, 0, 3]);
  });
}

/**
 * Row-major [outSize, inSize]: the weights of the four taps of every output; taps clamped to the same position are
 * added.
 */
function bicubicMatrix(inSize: number, outSize: number): Float32Array {
  const matrix = new Float32Array(outSize * inSize);
  for (let out = 0; out < outSize; out++) {
    const source = ((out + 0.5) * inSize) / outSize - 0.5;
    const floor = Math.floor(source);
    for (let tap = -1; tap <= 2; tap++) {
      const index = Math.min(Math.max(floor + tap, 0), inSize - 1);
      const at = out * inSize + index;
      matrix[at] = (matrix[at] as number) + cubic(source - floor - tap);
    }
  }
  return matrix;
}

function cubic(offset: number): number {
  const t = Math.abs(offset);
  if (t <= 1) return ((CUBIC_A + 2) * t - (CUBIC_A + 3)) * t * t + 1;
  if (t < 2) return (((t - 5) * t + 8) * t - 4) * CUBIC_A;
  return 0;
}
