import { builtInForms } from "../forms/active.ts";
import { pointProgram, runPoints } from "../rows-program.ts";
import { customKernels, defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { u32s } from "../runtime/pipelines.ts";
import { countWork, type RowRange, rowRuns } from "../runtime/work-budget.ts";
import { type Tensor, tf } from "../tf.ts";
import { linear } from "./linear.ts";

// Gathers convolution windows into rows, so that a convolution is one matrix product (im2col).

interface Windows {
  readonly kernelHeight: number;
  readonly kernelWidth: number;
  readonly stride: number;
  readonly padding: number;
}

/** Height and width of the output map. */
function windowGrid(height: number, width: number, windows: Windows): [number, number] {
  const { kernelHeight, kernelWidth, stride, padding } = windows;
  const count = (size: number, kernel: number): number => Math.floor((size + 2 * padding - kernel) / stride) + 1;
  return [count(height, kernelHeight), count(width, kernelWidth)];
}

/**
 * The window of every output cell as a row; cells are ordered by row, then column, and elements by window row, column,
 * channel.
 * @param x [B, h, w, C]; zero outside
 * @returns [B·h'·w', kh·kw·C]
 */
function gatherWindows(x: Tensor, windows: Windows): Tensor {
  const [, height, width, channels] = x.shape as [number, number, number, number];
  return customWindows({ x }, { ...windows, height, width, channels })[0] as Tensor;
}

const FIELDS = {
  ...u32s("size channels height width outHeight outWidth kernelHeight kernelWidth stride"),
  padding: "i32",
} as const;

const CELLS = [0, 1, 2, 3];

/**
 * One thread per row of a window, whose columns and channels are contiguous in the map. It copies four elements at a
 * time and repeats the last ones, so that only the thread's index is divided.
 */
const GATHER = pointProgram({
  name: "lab-gather-windows",
  inputs: { x: "f32" },
  outputs: { result: "f32" },
  uniforms: FIELDS,
  body: `
    let cell = i / u.kernelHeight;
    let row = i32(cell / u.outWidth % u.outHeight * u.stride + i % u.kernelHeight) - u.padding;
    let within = (row >= 0) & (row < i32(u.height));
    let map = cell / (u.outWidth * u.outHeight);
    let line = i32(u.width * u.channels);
    let source = (map * u.height + u32(clamp(row, 0, i32(u.height) - 1))) * u.width * u.channels;
    let begin = (i32(cell % u.outWidth * u.stride) - u.padding) * i32(u.channels);
    let length = u.kernelWidth * u.channels;
    for (var n = 0u; n < length; n += 4u) {
      ${CELLS.map((c) => `let n${c} = min(n + ${c}u, length - 1u); let p${c} = begin + i32(n${c});`).join("\n")}
      ${CELLS.map((c) => `let v${c} = x[source + u32(clamp(p${c}, 0, line - 1))];`).join("\n")}
      ${CELLS.map((c) => `result[i * length + n${c}] = select(0.0, v${c}, within & (p${c} >= 0) & (p${c} < line));`).join("\n")}
    }`,
});

/** The gradient: every input element sums the taps that read it. */
const SPREAD = pointProgram({
  name: "lab-spread-windows",
  inputs: { dy: "f32" },
  outputs: { result: "f32" },
  uniforms: FIELDS,
  body: `
    let channel = i % u.channels;
    let column = i32(i / u.channels % u.width) + u.padding;
    let row = i32(i / (u.channels * u.width) % u.height) + u.padding;
    let map = i / (u.channels * u.width * u.height);
    let taps = u.channels * u.kernelHeight * u.kernelWidth;
    var total = 0.0;
    for (var down = 0u; down < u.kernelHeight; down++) {
      let y = row - i32(down);
      if (y < 0 || y % i32(u.stride) != 0 || y / i32(u.stride) >= i32(u.outHeight)) { continue; }
      for (var along = 0u; along < u.kernelWidth; along++) {
        let x = column - i32(along);
        if (x < 0 || x % i32(u.stride) != 0 || x / i32(u.stride) >= i32(u.outWidth)) { continue; }
        let cell = (map * u.outHeight + u32(y) / u.stride) * u.outWidth + u32(x) / u.stride;
        total += dy[cell * taps + (down * u.kernelWidth + along) * u.channels + channel];
      }
    }
    result[i] = total;`,
});

interface Sizes extends Windows {
  readonly height: number;
  readonly width: number;
  readonly channels: number;
}

function uniformsOf(sizes: Sizes): number[] {
  const { height, width, channels, kernelHeight, kernelWidth, stride, padding } = sizes;
  return [channels, height, width, ...windowGrid(height, width, sizes), kernelHeight, kernelWidth, stride, padding];
}

const customWindows = defineOp({
  name: "LabWindows",
  forward(inputs, attributes) {
    const x = inputs.x as tf.TensorInfo;
    const sizes = attributes as unknown as Sizes;
    const [outHeight, outWidth] = windowGrid(sizes.height, sizes.width, sizes);
    const rows = (x.shape[0] as number) * outHeight * outWidth;
    const taps = sizes.channels * sizes.kernelHeight * sizes.kernelWidth;
    return runPoints(GATHER, [x], [{ shape: [rows, taps] }], rows * sizes.kernelHeight, uniformsOf(sizes));
  },
  gradient([dy], _saved, attributes) {
    const sizes = attributes as unknown as Sizes;
    const { height, width, channels, kernelHeight, kernelWidth } = sizes;
    const [outHeight, outWidth] = windowGrid(height, width, sizes);
    const given = dy as Tensor;
    const batch = given.size / (outHeight * outWidth * channels * kernelHeight * kernelWidth);
    const shape = [batch, height, width, channels];
    const size = tf.util.sizeFromShape(shape);
    return { x: () => toTensor(runPoints(SPREAD, [given], [{ shape }], size, uniformsOf(sizes))[0]) };
  },
});

// The backend's own convolution, split where one dispatch would run too long: by image, and by runs of output rows,
// each with the input rows its windows cover. On the tape the parts are slices, convolutions and a concatenation, so
// the gradients are split the same way. Every window gives the same numbers as without the split.

/**
 * @param x [B, h, w, Cin]
 * @param weight [Cout, Cin, kh, kw]
 * @returns [B, h', w', Cout]
 */
function stockConv2d(x: tf.Tensor4D, weight: tf.Tensor4D, stride: number, padding: number): tf.Tensor4D {
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
