import { type Tensor, tf } from "../tf.ts";

/**
 * Bilinear resize with half-pixel centres (PyTorch align_corners = false, no antialiasing).
 * @param x [B, h, w, C]
 * @returns [B, height, width, C]
 */
export function resizeBilinear(x: Tensor, height: number, width: number): Tensor {
  return tf.image.resizeBilinear(x as tf.Tensor4D, [height, width], false, true);
}

/**
 * Each cell doubled in both directions: [B, h, w, C] → [B, 2h, 2w, C]. Concatenation, because the backend's tile goes
 * through a synchronous read-back from rank 5 on.
 */
export function nearestTwice(x: Tensor): Tensor {
  return tf.tidy(() => {
    const [batch, height, width, channels] = x.shape as [number, number, number, number];
    const cells = x.reshape([batch * height * width, channels]);
    const rows = tf.concat([cells, cells], 1).reshape([batch * height, 2 * width * channels]);
    return tf.concat([rows, rows], 1).reshape([batch, height * 2, width * 2, channels]);
  });
}
