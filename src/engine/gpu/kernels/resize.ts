import { type Tensor, tf } from "../tf.ts";

/**
 * Bilinear resize with half-pixel centres (PyTorch align_corners = false, no antialiasing).
 * @param x [B, h, w, C]
 * @returns [B, height, width, C]
 */
export function resizeBilinear(x: Tensor, height: number, width: number): Tensor {
  return tf.image.resizeBilinear(x as tf.Tensor4D, [height, width], false, true);
}

/** Each cell doubled in both directions: [B, h, w, C] → [B, 2h, 2w, C]. */
export function nearestTwice(x: Tensor): Tensor {
  return tf.tidy(() => {
    const [batch, height, width, channels] = x.shape as [number, number, number, number];
    const widened = tf.tile(x.reshape([batch, height, 1, width, 1, channels]), [1, 1, 2, 1, 2, 1]);
    return widened.reshape([batch, height * 2, width * 2, channels]);
  });
}
