/**
 * The vision towers of Qwen2.5-VL and Qwen3-VL and their mergers (docs/spec/qwen-vl.md#4-vision-tower). The towers are
 * frozen everywhere; the mergers are differentiable.
 */
import type { RgbImage } from "../../engine/data/sample.ts";
import { badInput } from "../../engine/errors.ts";
import { attention } from "../../engine/gpu/kernels/attention/attention.ts";
import { linear } from "../../engine/gpu/kernels/linear.ts";
import { layerNorm, rmsNorm } from "../../engine/gpu/kernels/norm.ts";
import { angleTable, applyRope, type RopeTable } from "../../engine/gpu/kernels/rope.ts";
import { SIGMOID } from "../../engine/gpu/matmul/activation-code.ts";
import { customKernels, suits, toTensor } from "../../engine/gpu/runtime/custom-op.ts";
import type { Paced } from "../../engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { headsOfPart } from "../../engine/gpu/tfjs/strided-copy.ts";
import { runVectors, type VectorProgram } from "../../engine/gpu/tfjs/vector-points.ts";
import { resizeBicubic } from "../../engine/model/preprocess/pillow-bicubic.ts";
import type { Probe } from "../../engine/model/probe.ts";
import { activatedLayer, addLayer, linearLayer } from "../../engine/model/weights/linear-layer.ts";
import type { Weights } from "../../engine/model/weights/weights.ts";
import { LEAST_PIXELS, MERGE, MOST_PICTURE_PIXELS, type QwenVision } from "./config.ts";

// Pictures of Qwen-VL: sizes, the published resize, and patches in the tower's order
// (docs/spec/qwen-vl.md#3-image-preprocessing).

/** Longest side of a picture in units of its shortest. */
const MOST_ASPECT = 200;

export function isAccepted({ height, width }: Pick<RgbImage, "height" | "width">): boolean {
  return Math.max(height, width) / Math.min(height, width) <= MOST_ASPECT;
}

/** Python's `round`: a half goes to the even neighbour. */
function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/**
 * The size that a picture is resized to: multiples of `factor` with nearly its aspect ratio and between `least` and
 * `most` pixels.
 * @throws LabError("bad-input") when one side is more than 200 times the other
 */
export function smartResize(
  height: number,
  width: number,
  factor: number,
  least: number = LEAST_PIXELS,
  most: number = MOST_PICTURE_PIXELS,
): { readonly height: number; readonly width: number } {
  if (!isAccepted({ height, width })) {
    throw badInput(`A picture of ${width} x ${height} is more than ${MOST_ASPECT} times as long as wide`, "image");
  }
  const rounded = (side: number): number => roundHalfEven(side / factor) * factor;
  const [high, wide] = [rounded(height), rounded(width)];
  if (high * wide > most) {
    const shrink = Math.sqrt((height * width) / most);
    const scaled = (side: number): number => Math.max(factor, Math.floor(side / shrink / factor) * factor);
    return { height: scaled(height), width: scaled(width) };
  }
  if (high * wide < least) {
    const grow = Math.sqrt(least / (height * width));
    const scaled = (side: number): number => Math.ceil((side * grow) / factor) * factor;
    return { height: scaled(height), width: scaled(width) };
  }
  return { height: high, width: wide };
}

/** Sides and limits of the resize that the published `predict_forward` makes before the processor's own. */
const FIRST_FACTOR = 28;
const FIRST_LEAST = 4 * 28 ** 2;
const FIRST_MOST = 16384 * 28 ** 2;

/**
 * The picture at the tower's size.
 * @param patchSize side of a patch in pixels
 * @param twice whether to resize with Pillow's filter first, as published inference does; training resizes once
 */
export function resizedPicture(image: RgbImage, patchSize: number, twice: boolean): RgbImage {
  let current = image;
  if (twice) {
    const { height, width } = smartResize(image.height, image.width, FIRST_FACTOR, FIRST_LEAST, FIRST_MOST);
    current = resizeBicubic(image, width, height);
  }
  const { height, width } = smartResize(current.height, current.width, MERGE * patchSize);
  return resizeBicubic(current, width, height, "columns", "short");
}

/** Rows and columns of patches of a picture at the tower's size. */
interface PatchGrid {
  readonly rows: number;
  readonly cols: number;
}

/** Row and column of every patch, in blocks of 2 x 2: block row, block column, row in the block, column in it. */
function patchPlaces({ rows, cols }: PatchGrid): (readonly [row: number, col: number])[] {
  const places: [number, number][] = [];
  for (let top = 0; top < rows; top += MERGE) {
    for (let left = 0; left < cols; left += MERGE) {
      for (let y = 0; y < MERGE; y++) for (let x = 0; x < MERGE; x++) places.push([top + y, left + x]);
    }
  }
  return places;
}

/**
 * Patches of a picture at the tower's size, each channel by channel, row by row.
 * @param mean, std per channel on the 0..1 scale
 * @returns [patches, 3 · patchSize²] in the order of `patchPlaces`
 */
export function picturePatches(
  { width, height, data }: RgbImage,
  patchSize: number,
  mean: readonly number[],
  std: readonly number[],
): Float32Array<ArrayBuffer> {
  const table = new Float32Array(3 * 256);
  for (let at = 0; at < table.length; at++) {
    const channel = Math.floor(at / 256);
    table[at] = ((at % 256) / 255 - (mean[channel] as number)) / (std[channel] as number);
  }
  const values = new Float32Array(3 * width * height);
  let to = 0;
  for (const [row, col] of patchPlaces({ rows: height / patchSize, cols: width / patchSize })) {
    for (let channel = 0; channel < 3; channel++) {
      for (let y = 0; y < patchSize; y++) {
        let from = 3 * ((row * patchSize + y) * width + col * patchSize) + channel;
        for (let x = 0; x < patchSize; x++, from += 3) {
          values[to++] = table[channel * 256 + (data[from] as number)] as number;
        }
      }
    }
  }
  return values;
}

export const VISUAL = "model.model.visual";
/** Patches of a visual token. */
const UNIT = MERGE ** 2;
const EPS = 1e-6;
const THETA = 10_000;

/**
 * Elements of the arrays that the tower holds at a time over one picture: those of the patches and their positions, or
 * those of a block; with windows their parts are copied.
 */
export function towerElements(config: QwenVision, tokens: number): number {
  const { hiddenSize, mlpSize, heads, patchSize, positionSide, windowSide, deepstack } = config;
  // The patches of the picture before may still be in use.
  const embedding = 2 * 3 * patchSize ** 2 + (positionSide === 0 ? 2 : 10) * hiddenSize;
  const arrays = (windowSide === 0 ? 15 : 23) + deepstack.length;
  const block = arrays * hiddenSize + 2 * mlpSize + (2 * hiddenSize) / heads;
  return UNIT * tokens * Math.max(embedding, block);
}

/**
 * Outputs of the blocks that the language model reads, with the four patches of each visual token side by side.
 * @param pixels of the patches, as `picturePatches` makes them
 * @param probe receives `visual.embeddings` and `visual.block.{i}`, in the order of `towerOrder`
 * @returns [1 + deepstack, N / 4, 4 H], the last block's output first; owned by the caller
 */
export function* qwenTower(
  w: Weights,
  config: QwenVision,
  pixels: Float32Array,
  grid: PatchGrid,
  probe?: Probe,
): Paced<Tensor> {
  const { order, runs } = towerOrder(config, grid);
  const rope = visionRope(config, grid, order);
  const kept: Tensor[] = [];
  let stream = tf.tidy(() => {
    const patches = tf.tensor2d(pixels, [grid.rows * grid.cols, 3 * config.patchSize ** 2]);
    const embedded = embedPatches(w, config, patches, grid);
    return runs.length === 1 ? embedded : tf.gather(embedded, tf.tensor1d(order, "int32"));
  });
  try {
    probe?.("visual.embeddings", stream);
    yield;
    for (let layer = 0; layer < config.layers; layer++) {
      const before = stream;
      const apart = config.windowSide > 0 && !config.fullBlocks.includes(layer);
      stream = tf.tidy(() =>
        block(w, config, layer, before, rope, apart ? runs : [{ count: 1, patches: order.length }]),
      );
      if (!kept.includes(before)) before.dispose();
      probe?.(`visual.block.${layer}`, stream);
      if (config.deepstack.includes(layer)) kept.push(stream);
      yield;
    }
    return tf.tidy(() => {
      const all = [stream, ...config.deepstack.map((_, at) => kept[at] as Tensor)];
      const tokens = all.map((states) => states.reshape([order.length / UNIT, UNIT * config.hiddenSize]));
      if (runs.length === 1) return tf.stack(tokens);
      const back = new Array<number>(order.length / UNIT);
      for (let at = 0; at < back.length; at++) back[(order[at * UNIT] as number) / UNIT] = at;
      return tf.stack(tokens.map((states) => tf.gather(states, tf.tensor1d(back, "int32"))));
    });
  } finally {
    tf.dispose([stream, ...kept, rope.cos, rope.sin]);
  }
}

/** Windows of equal size next to one another. */
interface WindowRun {
  readonly count: number;
  /** Patches of each window. */
  readonly patches: number;
}

/**
 * The order in which the tower holds its patches: window by window, those of equal size together, so that the cut ones at
 * the right and bottom edges need no padding. Attention inside a window and the merger do not depend on the order of
 * windows.
 * @returns indices into the order of `patchPlaces`, visual tokens kept together
 */
function towerOrder(
  { windowSide }: Pick<QwenVision, "windowSide">,
  grid: PatchGrid,
): { readonly order: number[]; readonly runs: readonly WindowRun[] } {
  const [rows, cols] = [grid.rows / MERGE, grid.cols / MERGE];
  const side = windowSide === 0 ? Math.max(rows, cols) : windowSide / MERGE;
  const windows: number[][] = [];
  for (let top = 0; top < rows; top += side) {
    for (let left = 0; left < cols; left += side) {
      const tokens: number[] = [];
      for (let row = top; row < Math.min(top + side, rows); row++) {
        for (let col = left; col < Math.min(left + side, cols); col++) tokens.push(row * cols + col);
      }
      windows.push(tokens);
    }
  }
  const sizes = [...new Set(windows.map(({ length }) => length))];
  const sorted = sizes.map((size) => windows.filter(({ length }) => length === size));
  const order = sorted.flat(2).flatMap((token) => Array.from({ length: UNIT }, (_, at) => UNIT * token + at));
  return { order, runs: sorted.map((own) => ({ count: own.length, patches: UNIT * (own[0] as number[]).length })) };
}

/** A picture's two frames are equal, so the kernel's two steps in time are added: one linear layer on a patch. */
function embedPatches(w: Weights, config: QwenVision, patches: Tensor, grid: PatchGrid): Tensor {
  const path = `${VISUAL}.patch_embed.proj`;
  const kernel = w.get(`${path}.weight`);
  const { hiddenSize, patchSize, positionSide } = config;
  const folded = kernel
    .reshape([3 * hiddenSize, 2, patchSize ** 2])
    .sum(1)
    .reshape([hiddenSize, 3 * patchSize ** 2]);
  const embedded = linear(patches, folded, w.find(`${path}.bias`));
  return positionSide === 0
    ? embedded
    : embedded.add(positions(w.get(`${VISUAL}.pos_embed.weight`), positionSide, grid));
}

/** The table of learned positions, read bilinearly at evenly spread places from corner to corner, [N, H]. */
function positions(table: Tensor, side: number, grid: PatchGrid): Tensor {
  const [rows, cols] = [spread(side, grid.rows), spread(side, grid.cols)];
  const places = patchPlaces(grid).map(([row, col]) => [rows[row] as Spread, cols[col] as Spread] as const);
  const corner = (bottom: boolean, right: boolean): Tensor => {
    const ids = places.map(([row, col]) => (bottom ? row.high : row.low) * side + (right ? col.high : col.low));
    const shares = places.map(([row, col]) =>
      Math.fround((bottom ? row.rest : Math.fround(1 - row.rest)) * (right ? col.rest : Math.fround(1 - col.rest))),
    );
    return tf.gather(table, tf.tensor1d(ids, "int32")).mul(tf.tensor2d(shares, [shares.length, 1]));
  };
  return tf.addN([corner(false, false), corner(false, true), corner(true, false), corner(true, true)]);
}

interface Spread {
  readonly low: number;
  readonly high: number;
  readonly rest: number;
}

/** `linspace(0, side − 1, count)` in single precision, as PyTorch computes it: from both ends towards the middle. */
function spread(side: number, count: number): Spread[] {
  const end = side - 1;
  const step = count === 1 ? 0 : Math.fround(end / (count - 1));
  return Array.from({ length: count }, (_, at) => {
    const forward = Math.fround(step * at);
    const place = at < count / 2 || count === 1 ? forward : Math.fround(end - Math.fround(step * (count - 1 - at)));
    const low = Math.floor(place);
    return { low, high: Math.min(low + 1, end), rest: Math.fround(place - low) };
  });
}

/** Each head turns one half of its pairs by the patch's row and the other by its column. */
function visionRope(config: QwenVision, grid: PatchGrid, order: readonly number[]): RopeTable {
  const each = config.hiddenSize / config.heads / 4;
  const frequencies = Array.from({ length: each }, (_, k) => THETA ** (-k / each));
  const places = patchPlaces(grid);
  const own = order.map((at): [number, number, number] => [0, ...(places[at] as [number, number])]);
  const axes = [...frequencies.map(() => 1), ...frequencies.map(() => 2)];
  return angleTable([own], [...frequencies, ...frequencies], 1, axes);
}

function block(
  w: Weights,
  config: QwenVision,
  layer: number,
  x: Tensor,
  rope: RopeTable,
  runs: readonly WindowRun[],
): Tensor {
  const path = `${VISUAL}.blocks.${layer}`;
  const mixed = selfAttention(w, config, path, norm(w, `${path}.norm1`, x), rope, runs);
  const attended = addLayer(w, `${path}.attn.proj`, mixed, x);
  const inner = norm(w, `${path}.norm2`, attended);
  if (config.type === "qwen2_5_vl") {
    const gate = linearLayer(w, `${path}.mlp.gate_proj`, inner);
    return addLayer(
      w,
      `${path}.mlp.down_proj`,
      activatedLayer(w, `${path}.mlp.up_proj`, inner, "gate", gate),
      attended,
    );
  }
  return addLayer(w, `${path}.mlp.linear_fc2`, geluTanh(linearLayer(w, `${path}.mlp.linear_fc1`, inner)), attended);
}

const GELU_TANH: VectorProgram = {
  name: "lab-gelu-tanh",
  inputs: ["x"],
  outputs: ["y"],
  header: SIGMOID,
  body: `let y = x * sigmoid(${2 * Math.sqrt(2 / Math.PI)} * (x + 0.044715 * x * x * x));`,
};

/** x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))), which is x · sigmoid(2 √(2/π) (x + 0.044715 x³)). */
function geluTanh(x: Tensor): Tensor {
  if (customKernels() && suits(x)) return toTensor(runVectors(GELU_TANH, [x])[0]);
  return tf.tidy(() => {
    const inner = x
      .square()
      .mul(0.044715)
      .add(1)
      .mul(x)
      .mul(2 * Math.sqrt(2 / Math.PI));
    return inner.sigmoid().mul(x);
  });
}

/** Attention inside each window. @param x [N, H] */
function selfAttention(
  w: Weights,
  config: QwenVision,
  path: string,
  x: Tensor,
  rope: RopeTable,
  runs: readonly WindowRun[],
): Tensor {
  const { heads, hiddenSize } = config;
  const depth = hiddenSize / heads;
  const all = linearLayer(w, `${path}.attn.qkv`, x).expandDims(0);
  const part = (index: number): Tensor => headsOfPart(all, heads, index, 3);
  const [q, k, v] = [applyRope(part(0), rope), applyRope(part(1), rope), part(2)];
  let from = 0;
  const mixed = runs.map(({ count, patches }) => {
    const cut = (t: Tensor): Tensor => {
      const own = runs.length === 1 ? t : tf.slice(t, [0, 0, from, 0], [1, heads, count * patches, depth]);
      return count === 1 ? own : own.reshape([heads, count, patches, depth]).transpose([1, 0, 2, 3]);
    };
    const out = attention(cut(q), cut(k), cut(v), 1 / Math.sqrt(depth));
    from += count * patches;
    return out.transpose([0, 2, 1, 3]).reshape([count * patches, hiddenSize]);
  });
  return mixed.length === 1 ? (mixed[0] as Tensor) : tf.concat(mixed);
}

/** LayerNorm where the tower has biases, RMSNorm where it has none. */
function norm(w: Weights, path: string, x: Tensor): Tensor {
  const [weight, bias] = [w.get(`${path}.weight`), w.find(`${path}.bias`)];
  return bias === undefined ? rmsNorm(x, weight, EPS) : layerNorm(x, weight, bias, EPS);
}

/** Norm, linear, GELU, linear. @param x four patches side by side, [..., 4 H] @returns [..., D] */
function merged(w: Weights, path: string, layers: readonly [string, string], normPath: string, x: Tensor): Tensor {
  const width = x.shape.at(-1) as number;
  const own = w.get(`${normPath}.weight`).size;
  const normed = norm(w, normPath, x.reshape([-1, own])).reshape([...x.shape.slice(0, -1), width]);
  return linearLayer(w, `${path}.${layers[1]}`, activatedLayer(w, `${path}.${layers[0]}`, normed, "gelu"));
}

/**
 * Visual tokens, and beside them what each of the first layers of the language model adds.
 * @param vision [tiles · planes, tokens, 4 H]
 * @returns [tiles, tokens, planes · D]
 */
export function qwenMerger(w: Weights, config: QwenVision, vision: Tensor): Tensor {
  const planes = 1 + config.deepstack.length;
  const [rows, tokens, width] = vision.shape as [number, number, number];
  return tf.tidy(() => {
    const all = vision.reshape([rows / planes, planes, tokens, width]);
    const plane = (at: number): Tensor =>
      planes === 1
        ? vision
        : tf.slice(all, [0, at, 0, 0], [rows / planes, 1, tokens, width]).reshape([-1, tokens, width]);
    const path = `${VISUAL}.merger`;
    if (config.type === "qwen2_5_vl") return merged(w, path, ["mlp.0", "mlp.2"], `${path}.ln_q`, plane(0));
    const fc = ["linear_fc1", "linear_fc2"] as const;
    const own = merged(w, path, fc, `${path}.norm`, plane(0));
    const added = config.deepstack.map((_, at) => {
      const list = `${VISUAL}.deepstack_merger_list.${at}`;
      return merged(w, list, fc, `${list}.norm`, plane(1 + at));
    });
    return added.length === 0 ? own : tf.concat([own, ...added], 2);
  });
}
