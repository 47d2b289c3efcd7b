/**
 * Bilinear resize, half-pixel centres, edges repeated (PyTorch align_corners = false without antialiasing), and its
 * gradient. Layout [B, h, w, C]; elements of a row are indexed through columns and channels. A thread computes four
 * adjacent elements of several rows: it interpolates along two source rows once and uses them for all output rows
 * between them. The gradient gathers along one axis after the other: each source element sums its contributions in
 * order, without atomics. f32.
 *
 * The backend's own forward program gives the same numbers, but its gradient is that of a resize without half-pixel
 * centres. The path through stock operations therefore multiplies by the interpolation matrices.
 */
import { builtInForms } from "../forms/active.ts";
import { pointProgram, runPoints } from "../rows-program.ts";
import { customKernels, defineOp, suits, toTensor } from "../runtime/custom-op.ts";
import { type GpuProgram, u32s } from "../runtime/pipelines.ts";
import { flatGrid, release, runProgram } from "../runtime/program.ts";
import { type Tensor, tf } from "../tf.ts";

/**
 * @param x [B, h, w, C]
 * @returns [B, height, width, C]
 */
export function resizeBilinear(x: Tensor, height: number, width: number): Tensor {
  if (customKernels() && suits(x) && height > 0 && width > 0) {
    const [, oldHeight, oldWidth] = x.shape as [number, number, number, number];
    return customResize({ x }, { height, width, oldHeight, oldWidth })[0] as Tensor;
  }
  return tf.tidy(() => stockResize(height, width)(x));
}

const THREADS = 32;
/** Rows per thread: software adapters gain from shared rows, GPUs from more threads. */
const ROWS = { software: 16, gpu: 4 };

/** Finds the two source positions around an output position; at the edges they are the same. */
export const PLACE = `
  struct Place { low: u32, high: u32, share: f32 }
  fn place(at: u32, ratio: f32, count: u32) -> Place {
    let source = (f32(at) + 0.5) * ratio - 0.5;
    let low = min(u32(max(source, 0.0)), count - 1u);
    return Place(low, min(u32(max(ceil(source), 0.0)), count - 1u), source - f32(low));
  }`;

const CELLS = [0, 1, 2, 3];

/** One thread: four elements per row, and `u.rows` rows from `first` on. Elements past the end repeat the last one. */
const FORWARD: GpuProgram = {
  name: "lab-resize",
  inputs: { x: "f32" },
  outputs: { result: "f32" },
  uniforms: {
    ...u32s("size rows channels height width outHeight outWidth"),
    down: "f32",
    along: "f32",
  },
  workgroup: [THREADS, 1],
  header: PLACE,
  body: `
    let i = (group.y * groups.x + group.x) * ${THREADS}u + local.x;
    if (i >= u.size) { return; }
    let line = u.outWidth * u.channels;
    let fours = (line + 3u) / 4u;
    let begin = 4u * (i % fours);
    let runs = (u.outHeight + u.rows - 1u) / u.rows;
    let first = (i / fours) % runs * u.rows;
    let map = i / (fours * runs);
    ${CELLS.map(
      (c) => `
    let e${c} = min(begin + ${c}u, line - 1u);
    let p${c} = place(e${c} / u.channels, u.along, u.width);
    let l${c} = p${c}.low * u.channels + e${c} % u.channels;
    let h${c} = p${c}.high * u.channels + e${c} % u.channels;`,
    ).join("")}
    let share = vec4f(${CELLS.map((c) => `p${c}.share`).join(", ")});
    let end = min(first + u.rows, u.outHeight);
    var y = first;
    while (y < end) {
      var at = place(y, u.down, u.height);
      let top = (map * u.height + at.low) * u.width * u.channels;
      let bottom = (map * u.height + at.high) * u.width * u.channels;
      let top0 = vec4f(${CELLS.map((c) => `x[top + l${c}]`).join(", ")});
      let top1 = vec4f(${CELLS.map((c) => `x[top + h${c}]`).join(", ")});
      let bottom0 = vec4f(${CELLS.map((c) => `x[bottom + l${c}]`).join(", ")});
      let bottom1 = vec4f(${CELLS.map((c) => `x[bottom + h${c}]`).join(", ")});
      let above = top0 + (top1 - top0) * share;
      let below = bottom0 + (bottom1 - bottom0) * share;
      let low = at.low;
      let high = at.high;
      while (y < end && at.low == low && at.high == high) {
        let value = above + (below - above) * at.share;
        let to = (map * u.outHeight + y) * line;
        ${CELLS.map((c) => `result[to + e${c}] = value[${c}];`).join(" ")}
        y++;
        at = place(y, u.down, u.height);
      }
    }`,
};

/**
 * The gradient along one axis, [outer, many, inner] → [outer, few, inner]: the result positions that use a source
 * position, with a margin of 0.01 for rounding. Positions outside have weight 0.
 */
const BACKWARD = pointProgram({
  name: "lab-resize-grad",
  inputs: { dy: "f32" },
  outputs: { result: "f32" },
  uniforms: { size: "u32", few: "u32", many: "u32", inner: "u32", ratio: "f32" },
  header: PLACE,
  body: `
    let at = i / u.inner % u.few;
    let line = i / (u.inner * u.few) * u.many * u.inner + i % u.inner;
    let low = max(ceil((f32(at) - 0.5) / u.ratio - 0.51), 0.0);
    let high = max(floor((f32(at) + 1.5) / u.ratio - 0.49) + 1.0, 0.0);
    let end = select(min(u32(high), u.many), u.many, at + 1u == u.few);
    var total = 0.0;
    for (var to = select(u32(low), 0u, at == 0u); to < end; to++) {
      let p = place(to, u.ratio, u.few);
      let weight = select(0.0, 1.0 - p.share, p.low == at) + select(0.0, p.share, p.high == at);
      total += weight * dy[line + to * u.inner];
    }
    result[i] = total;`,
});

interface Sizes {
  readonly height: number;
  readonly width: number;
  readonly oldHeight: number;
  readonly oldWidth: number;
}

function forward(x: tf.TensorInfo, { height, width, oldHeight, oldWidth }: Sizes): tf.TensorInfo[] {
  const [batch, , , channels] = x.shape as [number, number, number, number];
  const rows = builtInForms().runs ? ROWS.software : ROWS.gpu;
  const threads = batch * Math.ceil(height / rows) * Math.ceil((width * channels) / 4);
  const sizes = [threads, rows, channels, oldHeight, oldWidth, height, width, oldHeight / height, oldWidth / width];
  const output = { shape: [batch, height, width, channels] };
  return runProgram(FORWARD, [x], [output], sizes, flatGrid(Math.ceil(threads / THREADS)));
}

/** First down the rows, then along the columns. */
function backward(dy: tf.TensorInfo, { height, width, oldHeight, oldWidth }: Sizes): tf.TensorInfo {
  const [batch, , , channels] = dy.shape as [number, number, number, number];
  const axis = (x: tf.TensorInfo, shape: number[], few: number, many: number, inner: number): tf.TensorInfo =>
    runPoints(BACKWARD, [x], [{ shape }], tf.util.sizeFromShape(shape), [
      few,
      many,
      inner,
      few / many,
    ])[0] as tf.TensorInfo;
  const rows = axis(dy, [batch, oldHeight, width, channels], oldHeight, height, width * channels);
  const cells = axis(rows, [batch, oldHeight, oldWidth, channels], oldWidth, width, channels);
  release(rows);
  return cells;
}

const customResize = defineOp({
  name: "LabResize",
  forward: (inputs, attributes) => forward(inputs.x as tf.TensorInfo, attributes as unknown as Sizes),
  gradient: ([dy], _saved, attributes) => ({
    x: () => toTensor(backward(dy as Tensor, attributes as unknown as Sizes)),
  }),
});

/** The backend's program, with its correct gradient. */
function stockResize(height: number, width: number): (x: Tensor) => Tensor {
  return tf.customGrad((given) => {
    const x = given as tf.Tensor4D;
    const [batch, oldHeight, oldWidth, channels] = x.shape;
    return {
      value: tf.image.resizeBilinear(x, [height, width], false, true),
      gradFunc(dy: Tensor) {
        const down = interpolation(oldHeight, height);
        const along = interpolation(oldWidth, width);
        const rows = tf.matMul(down, dy.reshape([batch, height, width * channels]), true);
        const cells = tf.matMul(along, rows.reshape([batch * oldHeight, width, channels]), true);
        return cells.reshape([batch, oldHeight, oldWidth, channels]);
      },
    };
  });
}

/** Weight of each source position in each result position, [1, to, from]. */
function interpolation(from: number, to: number): tf.Tensor3D {
  const values = new Float32Array(to * from);
  for (let at = 0; at < to; at++) {
    const source = Math.min(Math.max(((at + 0.5) * from) / to - 0.5, 0), from - 1);
    const low = Math.floor(source);
    const high = Math.min(low + 1, from - 1);
    values[at * from + low] = (values[at * from + low] as number) + 1 - (source - low);
    values[at * from + high] = (values[at * from + high] as number) + source - low;
  }
  return tf.tensor3d(values, [1, to, from]);
}

/**
 * Doubles each cell in both directions: [B, h, w, C] → [B, 2h, 2w, C]. Uses concatenation, because the backend's tile
 * makes a synchronous read-back from rank 5 on.
 */
export function nearestTwice(x: Tensor): Tensor {
  return tf.tidy(() => {
    const [batch, height, width, channels] = x.shape as [number, number, number, number];
    const cells = x.reshape([batch * height * width, channels]);
    const rows = tf.concat([cells, cells], 1).reshape([batch * height, 2 * width * channels]);
    return tf.concat([rows, rows], 1).reshape([batch, height * 2, width * 2, channels]);
  });
}
