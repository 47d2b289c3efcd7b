/**
 * The backend's own convolution, split where one dispatch would run too long: by image, and by runs of output rows,
 * each with the input rows its windows cover. On the tape the parts are slices, convolutions and a concatenation, so
 * the gradients are split the same way. Every window gives the same numbers as without the split.
 */

import { countWork, type RowRange, rowRuns } from "../runtime/work-budget.ts";
import { tf } from "../tf.ts";
import { windowGrid } from "./patches.ts";

/**
 * @param x [B, h, w, Cin]
 * @param weight [Cout, Cin, kh, kw]
 * @returns [B, h', w', Cout]
 */
export function stockConv2d(x: tf.Tensor4D, weight: tf.Tensor4D, stride: number, padding: number): tf.Tensor4D {
  return tf.tidy(() => {
    const [batch, height, width, channels] = x.shape;
    const [outSize, , kernelHeight, kernelWidth] = weight.shape;
    if (kernelHeight * kernelWidth * stride === 1 && padding === 0) {
      // A 1×1 convolution is a product, which is split like other products.
      const kernel = weight.reshape([outSize, channels]).transpose() as tf.Tensor2D;
      return tf.matMul(x.reshape([-1, channels]) as tf.Tensor2D, kernel).reshape([batch, height, width, outSize]);
    }
    const kernel = weight.transpose([2, 3, 1, 0]) as tf.Tensor4D;
    const [rows, columns] = windowGrid(height, width, { kernelHeight, kernelWidth, stride, padding });
    const perRow = columns * outSize * kernelHeight * kernelWidth * channels;
    const images = rowRuns(batch, perRow * rows, 1).map((image) => {
      const part = image.count === batch ? x : x.slice([image.from, 0, 0, 0], [image.count, height, width, channels]);
      const runs = rowRuns(rows, perRow * image.count, 1).map((run) => {
        const y = rowsOf(part, kernel, run, [rows, columns], stride, padding);
        countWork(run.count * perRow * image.count);
        return y;
      });
      return runs.length === 1 ? (runs[0] as tf.Tensor4D) : tf.concat(runs, 1);
    });
    return images.length === 1 ? (images[0] as tf.Tensor4D) : tf.concat(images, 0);
  });
}

/** Computes output rows `run` out of `rows` from the input rows that their windows cover. */
function rowsOf(
  x: tf.Tensor4D,
  kernel: tf.Tensor4D,
  run: RowRange,
  [rows, columns]: readonly [number, number],
  stride: number,
  padding: number,
): tf.Tensor4D {
  if (run.count === rows) return convolve(x, kernel, stride, [padding, padding], padding);
  const [batch, height, width, channels] = x.shape;
  const top = run.from * stride - padding;
  const end = (run.from + run.count - 1) * stride - padding + kernel.shape[0];
  const [first, last] = [Math.max(top, 0), Math.min(end, height)];
  // These windows contain only padding.
  if (last <= first) return tf.zeros([batch, run.count, columns, kernel.shape[3]]);
  const part = x.slice([0, first, 0, 0], [batch, last - first, width, channels]);
  return convolve(part, kernel, stride, [first - top, end - last], padding);
}

/** Zero padding: rows above and below, columns on both sides. */
function convolve(
  x: tf.Tensor4D,
  kernel: tf.Tensor4D,
  stride: number,
  [above, below]: readonly [number, number],
  beside: number,
): tf.Tensor4D {
  const sides: tf.backend_util.ExplicitPadding = [
    [0, 0],
    [above, below],
    [beside, beside],
    [0, 0],
  ];
  return tf.conv2d(x, kernel, stride, above + below + beside === 0 ? "valid" : sides);
}
