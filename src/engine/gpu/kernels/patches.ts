/** Gathers convolution windows into rows, so that a convolution is one matrix product (im2col). */
import { pointProgram, runPoints } from "../rows-program.ts";
import { defineOp, toTensor } from "../runtime/custom-op.ts";
import { u32s } from "../runtime/uniforms.ts";
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
 * The window of every output cell as a row; cells are ordered by row, then column, and elements by window row, column,
 * channel.
 * @param x [B, h, w, C]; zero outside
 * @returns [B·h'·w', kh·kw·C]
 */
export function gatherWindows(x: Tensor, windows: Windows): Tensor {
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
