/** Gathering of convolution windows into rows, so that a convolution is one matrix product (im2col). */
import { defineOp, toTensor } from "../own-op.ts";
import { pointProgram, runPoints } from "../rows-program.ts";
import { type Tensor, tf } from "../tf.ts";

export interface Windows {
  readonly kernelHeight: number;
  readonly kernelWidth: number;
  readonly stride: number;
  readonly padding: number;
}

/** Height and width of the output map. */
export function windowGrid(height: number, width: number, windows: Windows): [number, number] {
  const { kernelHeight, kernelWidth, stride, padding } = windows;
  const count = (size: number, kernel: number): number => Math.floor((size + 2 * padding - kernel) / stride) + 1;
  return [count(height, kernelHeight), count(width, kernelWidth)];
}

/**
 * The window of every output cell as a row in the order of a PyTorch weight: channel, then row, then column.
 * @param x [B, h, w, C]; zero outside
 * @returns [B·h'·w', C·kh·kw]
 */
export function gatherWindows(x: Tensor, windows: Windows): Tensor {
  const [, height, width, channels] = x.shape as [number, number, number, number];
  return ownWindows({ x }, { ...windows, height, width, channels })[0] as Tensor;
}

const FIELDS = {
  size: "u32",
  channels: "u32",
  height: "u32",
  width: "u32",
  outHeight: "u32",
  outWidth: "u32",
  kernelHeight: "u32",
  kernelWidth: "u32",
  stride: "u32",
  padding: "i32",
} as const;

const GATHER = pointProgram({
  name: "lab-gather-windows",
  inputs: { x: "f32" },
  outputs: { result: "f32" },
  uniforms: FIELDS,
  body: `
    let area = u.kernelHeight * u.kernelWidth;
    let taps = u.channels * area;
    let cell = i / taps;
    let tap = i % taps;
    let channel = tap / area;
    let row = i32((cell / u.outWidth) % u.outHeight * u.stride + (tap % area) / u.kernelWidth) - u.padding;
    let column = i32(cell % u.outWidth * u.stride + tap % u.kernelWidth) - u.padding;
    var value = 0.0;
    if (row >= 0 && column >= 0 && row < i32(u.height) && column < i32(u.width)) {
      let map = cell / (u.outWidth * u.outHeight);
      value = x[((map * u.height + u32(row)) * u.width + u32(column)) * u.channels + channel];
    }
    result[i] = value;`,
});

/** The gradient: every input element adds up the taps that read it. */
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
    let area = u.kernelHeight * u.kernelWidth;
    var total = 0.0;
    for (var down = 0u; down < u.kernelHeight; down++) {
      let y = row - i32(down);
      if (y < 0 || y % i32(u.stride) != 0 || y / i32(u.stride) >= i32(u.outHeight)) { continue; }
      for (var along = 0u; along < u.kernelWidth; along++) {
        let x = column - i32(along);
        if (x < 0 || x % i32(u.stride) != 0 || x / i32(u.stride) >= i32(u.outWidth)) { continue; }
        let cell = (map * u.outHeight + u32(y) / u.stride) * u.outWidth + u32(x) / u.stride;
        total += dy[(cell * u.channels + channel) * area + down * u.kernelWidth + along];
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

const ownWindows = defineOp({
  name: "LabWindows",
  forward(inputs, attributes) {
    const x = inputs.x as tf.TensorInfo;
    const sizes = attributes as unknown as Sizes;
    const [outHeight, outWidth] = windowGrid(sizes.height, sizes.width, sizes);
    const rows = (x.shape[0] as number) * outHeight * outWidth;
    const taps = sizes.channels * sizes.kernelHeight * sizes.kernelWidth;
    return runPoints(GATHER, [x], [{ shape: [rows, taps] }], rows * taps, uniformsOf(sizes));
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
