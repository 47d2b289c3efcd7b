import { builtInForms } from "../forms/active.ts";
import { customKernels } from "../runtime/custom-kernels.ts";
import { suits } from "../runtime/custom-op.ts";
import { type Tensor, tf } from "../tf.ts";
import { linear } from "./linear.ts";
import { gatherWindows, windowGrid } from "./patches.ts";
import { stockConv2d } from "./stock-conv.ts";

/** Maximum bytes of gathered windows. */
const WINDOW_BYTES = 64 * 2 ** 20;

/**
 * Convolution with a PyTorch weight.
 * @param x [B, h, w, Cin]
 * @param weight [Cout, Cin, kh, kw]
 * @returns [B, h', w', Cout]
 */
export function conv2d(x: Tensor, weight: Tensor, bias: Tensor | undefined, stride: number, padding: number): Tensor {
  if (customKernels() && builtInForms().convolutions === "products" && suits(x, weight, bias)) {
    const [batch, height, width, channels] = x.shape as [number, number, number, number];
    const [outSize, , kernelHeight, kernelWidth] = weight.shape as [number, number, number, number];
    const windows = { kernelHeight, kernelWidth, stride, padding };
    const [outHeight, outWidth] = windowGrid(height, width, windows);
    const taps = channels * kernelHeight * kernelWidth;
    const bytes = batch * outHeight * outWidth * taps * Float32Array.BYTES_PER_ELEMENT;
    if (outHeight > 0 && outWidth > 0 && bytes <= WINDOW_BYTES) {
      return tf.tidy(() => {
        const cells = kernelHeight * kernelWidth * stride === 1 && padding === 0;
        const rows = cells ? x.reshape([-1, channels]) : gatherWindows(x, windows);
        const y = linear(rows, weight.transpose([0, 2, 3, 1]).reshape([outSize, taps]), bias);
        return y.reshape([batch, outHeight, outWidth, outSize]);
      });
    }
  }
  return tf.tidy(() => {
    const y = stockConv2d(x as tf.Tensor4D, weight as tf.Tensor4D, stride, padding);
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
