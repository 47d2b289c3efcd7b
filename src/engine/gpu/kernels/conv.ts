import { type Tensor, tf } from "../tf.ts";

/**
 * Convolution with a PyTorch weight.
 * @param x [B, h, w, Cin]
 * @param weight [Cout, Cin, kh, kw]
 * @returns [B, h', w', Cout]
 */
export function conv2d(x: Tensor, weight: Tensor, bias: Tensor | undefined, stride: number, padding: number): Tensor {
  return tf.tidy(() => {
    const kernel = weight.transpose([2, 3, 1, 0]) as tf.Tensor4D;
    const y = tf.conv2d(x as tf.Tensor4D, kernel, stride, padding);
    return bias === undefined ? y : y.add(bias);
  });
}

/**
 * Transposed convolution 2×2 with stride 2, which never overlaps: out[2y+i][2x+j] = Σ_c in[y][x][c] W[c][o][i][j] + b.
 * @param x [B, h, w, Cin]
 * @param weight [Cin, Cout, 2, 2]
 * @returns [B, 2h, 2w, Cout]
 */
export function convTranspose2x2(x: Tensor, weight: Tensor, bias: Tensor): Tensor {
  return tf.tidy(() => {
    const [batch, height, width, inSize] = x.shape as [number, number, number, number];
    const outSize = weight.shape[1] as number;
    const kernel = weight.transpose([0, 2, 3, 1]).reshape([inSize, 4 * outSize]) as tf.Tensor2D;
    const cells = tf.matMul(x.reshape([-1, inSize]) as tf.Tensor2D, kernel);
    const blocks = cells.reshape([batch * height, width, 2, 2 * outSize]).transpose([0, 2, 1, 3]);
    return blocks.reshape([batch, 2 * height, 2 * width, outSize]).add(bias);
  });
}
