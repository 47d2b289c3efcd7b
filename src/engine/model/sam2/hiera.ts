/** The Hiera trunk of SAM2, NHWC (docs/spec/sa2va.md#13-sam2-image-encoder). Frozen: none of it is differentiated. */

import { attention } from "../../gpu/kernels/attention/attention.ts";
import { conv2d } from "../../gpu/kernels/conv.ts";
import { layerNorm } from "../../gpu/kernels/norm.ts";
import { zerosBehind } from "../../gpu/kernels/repeat.ts";
import { nearestTwice } from "../../gpu/kernels/resize.ts";
import { type Paced, tidied } from "../../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { headsOfPart } from "../../gpu/tfjs/strided-copy.ts";
import type { Probe } from "../probe.ts";
import { activatedLayer, linearLayer, linearPart } from "../weights/linear-layer.ts";
import type { Weights } from "../weights/weights.ts";
import { PATCH_STRIDE, type Sam2Config } from "./config.ts";
import { resizeBicubicClamped } from "./interpolation.ts";

const TRUNK = "grounding_encoder.sam2_model.image_encoder.trunk";
const NORM_EPS = 1e-6;
/** Maximum bytes of one array of attention scores or hidden units. */
const CHUNK_BYTES = 32 * 2 ** 20;

/** Plan of one block. */
interface HieraBlock {
  readonly heads: number;
  /** Window side, 0 = the whole map. */
  readonly window: number;
  /** First block of a later stage: queries and shortcut are max-pooled 2×2, the width changes. */
  readonly pool: boolean;
  /** Whether the block's output is a stage output. */
  readonly stageEnd: boolean;
}

/** The plan of all blocks; the first block of a stage still uses the window of the previous one. */
export function hieraBlocks(config: Sam2Config): HieraBlock[] {
  const blocks: HieraBlock[] = [];
  for (let stage = 0; stage < config.stages.length; stage++) {
    const depth = config.stages[stage] as number;
    for (let index = 0; index < depth; index++) {
      const first = stage > 0 && index === 0;
      const window = config.windowSpec[first ? stage - 1 : stage] as number;
      blocks.push({
        heads: config.numHeads * 2 ** stage,
        window: config.globalAttBlocks.includes(blocks.length) ? 0 : window,
        pool: first,
        stageEnd: index === depth - 1,
      });
    }
  }
  return blocks;
}

/**
 * Outputs of the four stages, finest first.
 * @param pixels [1, S, S, 3] normalised
 * @returns [1, S/4, S/4, C], [1, S/8, S/8, 2C], [1, S/16, S/16, 4C], [1, S/32, S/32, 8C]; owned by the caller or its
 * tidy
 */
export function* hiera(w: Weights, config: Sam2Config, pixels: Tensor, probe?: Probe): Paced<Tensor[]> {
  const outputs: Tensor[] = [];
  let x = tf.tidy(() => {
    const weight = w.get(`${TRUNK}.patch_embed.proj.weight`);
    const patches = conv2d(pixels, weight, w.get(`${TRUNK}.patch_embed.proj.bias`), PATCH_STRIDE, 3);
    probe?.("hiera.patch_embed", patches);
    const position = hieraPosition(w, patches.shape[1] as number, patches.shape[2] as number);
    probe?.("hiera.pos_embed", position);
    return patches.add(position);
  });
  let whole = false;
  try {
    yield;
    for (const [index, block] of hieraBlocks(config).entries()) {
      const y = yield* hieraBlock(w, `${TRUNK}.blocks.${index}`, block, x);
      probe?.(`hiera.block.${index}`, y);
      if (!outputs.includes(x)) x.dispose();
      if (block.stageEnd) outputs.push(y);
      x = y;
      yield;
    }
    whole = true;
    return outputs;
  } finally {
    if (!whole) tf.dispose([x, ...outputs]);
  }
}

/** Background embedding resized to the map, plus the repeated window embedding: [1, height, width, C]. */
function hieraPosition(w: Weights, height: number, width: number): Tensor {
  return tf.tidy(() => {
    const background = w.get(`${TRUNK}.pos_embed`).transpose([0, 2, 3, 1]);
    const window = w.get(`${TRUNK}.pos_embed_window`).transpose([0, 2, 3, 1]);
    const [, rows, cols] = window.shape as [number, number, number];
    const tiled = tf.tile(window, [1, height / rows, width / cols, 1]);
    return resizeBicubicClamped(background, height, width).add(tiled);
  });
}

function* hieraBlock(w: Weights, path: string, block: HieraBlock, x: Tensor): Paced<Tensor> {
  const attended = yield* tidied(function* () {
    const y = layerNorm(x, w.get(`${path}.norm1.weight`), w.get(`${path}.norm1.bias`), NORM_EPS);
    // The projection of the shortcut acts on the normed input.
    const shortcut = block.pool ? tf.tidy(() => maxPool2x2(linearLayer(w, `${path}.proj`, y))) : x;
    yield;
    const mixed = yield* windowAttention(w, `${path}.attn`, block, y);
    return shortcut.add(mixed);
  });
  try {
    yield;
    return yield* tidied(function* () {
      const y = layerNorm(attended, w.get(`${path}.norm2.weight`), w.get(`${path}.norm2.bias`), NORM_EPS);
      return attended.add(yield* mlp(w, `${path}.mlp.layers`, y));
    });
  } finally {
    attended.dispose();
  }
}

/** Two linear layers with GELU between, in chunks of rows so that the hidden layer stays small. Frees `x`. */
function* mlp(w: Weights, path: string, x: Tensor): Paced<Tensor> {
  const [width] = x.shape.slice(-1) as [number];
  const count = x.size / width;
  const hidden = w.matrix(`${path}.0.weight`).shape[0] as number;
  const layers = (rows: Tensor): Tensor => linearLayer(w, `${path}.1`, activatedLayer(w, `${path}.0`, rows, "gelu"));
  const step = Math.max(1, Math.floor(CHUNK_BYTES / (hidden * 4)));
  const parts: Tensor[] = [];
  for (let from = 0; from < count; from += step) {
    const size = Math.min(step, count - from);
    parts.push(
      tf.tidy(() => {
        const rows = x.reshape([count, width]);
        return layers(size === count ? rows : rows.slice([from, 0], [size, width]));
      }),
    );
    yield;
  }
  x.dispose();
  return tf.tidy(() => joined(parts, 0).reshape(x.shape));
}

/** Parts of an array along an axis as one; frees them. */
function joined(parts: readonly Tensor[], axis: number): Tensor {
  if (parts.length === 1) return parts[0] as Tensor;
  const whole = tf.concat([...parts], axis);
  tf.dispose([...parts]);
  return whole;
}

/** Frees `x`. */
function* windowAttention(w: Weights, path: string, block: HieraBlock, x: Tensor): Paced<Tensor> {
  const [batch, height, width] = x.shape as [number, number, number];
  const side: [number, number] = block.window > 0 ? [block.window, block.window] : [height, width];
  const windows = tf.tidy(() => cutWindows(x, side));
  if (windows !== x) x.dispose();
  const [count] = windows.shape as [number];
  const [queries, keys, values, outSide] = yield* queryKeyValue(w, `${path}.qkv`, block, windows);
  const mixed = yield* headAttention(queries, keys, values);
  const shrink = block.pool ? 2 : 1;
  const result = tf.tidy(() => {
    const projected = linearLayer(w, `${path}.proj`, mixed.reshape([count, ...outSide, -1]));
    return joinWindows(projected, batch, Math.floor(height / shrink), Math.floor(width / shrink), side, [
      height,
      width,
    ]);
  });
  mixed.dispose();
  return result;
}

/**
 * Queries, keys and values from one stored linear layer, [N, H, T, d] each, and the side of the queries' windows after
 * pooling. For a large map each part is computed separately, because all three together would be the largest array of
 * the trunk. Frees `x`.
 */
function* queryKeyValue(
  w: Weights,
  path: string,
  { heads, pool }: HieraBlock,
  x: Tensor,
): Paced<[q: Tensor, k: Tensor, v: Tensor, side: [number, number]]> {
  const [count, height, width, channels] = x.shape as [number, number, number, number];
  const size = (w.matrix(`${path}.weight`).shape[0] as number) / 3;
  const bytes = (x.size / channels) * 3 * size * 4;
  const all = bytes <= CHUNK_BYTES ? linearLayer(w, path, x) : undefined;
  const byHeads = (part: number): Tensor =>
    tf.tidy(() =>
      all === undefined
        ? headsOfPart(linearPart(w, path, x, part * size, size), heads)
        : headsOfPart(all, heads, part, 3),
    );
  const keys = byHeads(1);
  yield;
  const values = byHeads(2);
  yield;
  const queries = !pool
    ? byHeads(0)
    : tf.tidy(() => {
        const whole =
          all === undefined
            ? linearPart(w, path, x, 0, size)
            : tf.slice(all, [0, 0, 0, 0], [count, height, width, size]);
        return headsOfPart(maxPool2x2(whole), heads);
      });
  tf.dispose(all === undefined ? [x] : [x, all]);
  yield;
  return [queries, keys, values, pool ? [Math.floor(height / 2), Math.floor(width / 2)] : [height, width]];
}

/**
 * [N, H, T, d] ×3 → [N, Tq, H·d]; long queries are processed in chunks so that the scores stay below the limit. Frees
 * all three.
 */
function* headAttention(queries: Tensor, keys: Tensor, values: Tensor): Paced<Tensor> {
  const [count, heads, length, depth] = queries.shape as [number, number, number, number];
  const perQuery = count * heads * (keys.shape[2] as number) * 4;
  const step = Math.max(1, Math.floor(CHUNK_BYTES / perQuery));
  const parts: Tensor[] = [];
  for (let from = 0; from < length; from += step) {
    const size = Math.min(step, length - from);
    parts.push(
      tf.tidy(() => {
        const some = size === length ? queries : queries.slice([0, 0, from, 0], [count, heads, size, depth]);
        return attention(some, keys, values, 1 / Math.sqrt(depth));
      }),
    );
    yield;
  }
  tf.dispose([queries, keys, values]);
  return tf.tidy(() =>
    joined(parts, 2)
      .transpose([0, 2, 1, 3])
      .reshape([count, length, heads * depth]),
  );
}

/** Zero padding at the bottom and right to whole windows, then [B, h, w, C] → [B·windows, sh, sw, C]. */
function cutWindows(x: Tensor, [rows, cols]: [number, number]): Tensor {
  const [batch, height, width, channels] = x.shape as [number, number, number, number];
  const [down, across] = [Math.ceil(height / rows), Math.ceil(width / cols)];
  if (down === 1 && across === 1 && height === rows && width === cols) return x;
  const [below, beside] = [down * rows - height, across * cols - width];
  const padded = zerosBehind(x, [0, below, beside, 0]);
  const cut = padded.reshape([batch * down, rows, across, cols * channels]).transpose([0, 2, 1, 3]);
  return cut.reshape([batch * down * across, rows, cols, channels]);
}

/** Inverse of `cutWindows` for windows that pooling may have shrunk; crops the padding. */
function joinWindows(
  windows: Tensor,
  batch: number,
  height: number,
  width: number,
  [rows, cols]: [number, number],
  [fullHeight, fullWidth]: [number, number],
): Tensor {
  const [, sideRows, sideCols, channels] = windows.shape as [number, number, number, number];
  const [down, across] = [Math.ceil(fullHeight / rows), Math.ceil(fullWidth / cols)];
  const lines = windows.reshape([batch * down, across, sideRows, sideCols * channels]).transpose([0, 2, 1, 3]);
  const map = lines.reshape([batch, down * sideRows, across * sideCols, channels]);
  if (down * sideRows === height && across * sideCols === width) return map;
  return map.slice([0, 0, 0, 0], [batch, height, width, channels]);
}

/** 2×2 max pooling with stride 2, [B, h, w, C] → [B, h/2, w/2, C]. */
export function maxPool2x2(x: Tensor): Tensor {
  return tf.maxPool(x as tf.Tensor4D, 2, 2, "valid");
}

// Feature pyramid on top of the trunk, and the cached image features of the mask decoder
// (docs/spec/sa2va.md#13-sam2-image-encoder).

const SAM = "grounding_encoder.sam2_model";

/** The neck's output maps of a picture or video frame, NHWC. */
export interface FrameMaps {
  /** Stride 16 WITHOUT the no-memory embedding, [1, S/16, S/16, C]. */
  readonly f16: Tensor;
  /** Stride 8, [1, S/8, S/8, C]. */
  readonly f8: Tensor;
  /** Stride 4, [1, S/4, S/4, C]. */
  readonly f4: Tensor;
}

/** Image features of SAM2, NHWC, computed once per image; no trainable tensor comes before them. */
export interface SamFeatures {
  /** Stride 16 with the no-memory embedding added, [1, S/16, S/16, C]. */
  readonly f16: Tensor;
  /** Stride 8, before conv_s1, [1, S/8, S/8, C]. */
  readonly f8: Tensor;
  /** Stride 4, before conv_s0, [1, S/4, S/4, C]. */
  readonly f4: Tensor;
}

/**
 * Lateral 1×1 convolutions; only stride 16 also adds the coarser level.
 * @param stages the four trunk outputs, finest first
 * @returns strides 4, 8 and 16, [1, ·, ·, C] each
 */
function neck(w: Weights, stages: readonly Tensor[], probe?: Probe): [Tensor, Tensor, Tensor] {
  return tf.tidy(() => {
    const lateral = (level: number): Tensor => {
      // Stored coarsest first.
      const path = `${SAM}.image_encoder.neck.convs.${stages.length - 1 - level}.conv`;
      return conv2d(stages[level] as Tensor, w.get(`${path}.weight`), w.get(`${path}.bias`), 1, 0);
    };
    const coarse = lateral(3);
    probe?.("neck.lateral.0", coarse);
    const levels: [Tensor, Tensor, Tensor] = [lateral(0), lateral(1), lateral(2).add(nearestTwice(coarse))];
    levels.forEach((level, index) => {
      probe?.(`fpn.${index}`, level);
    });
    return levels;
  });
}

/**
 * SAM2's maps of a video frame.
 * @param pixels [1, S, S, 3] normalised
 * @returns tensors the caller owns
 */
export function* encodeFrame(w: Weights, config: Sam2Config, pixels: Tensor, probe?: Probe): Paced<FrameMaps> {
  const stages = yield* hiera(w, config, pixels, probe);
  const [f4, f8, f16] = neck(w, stages, probe);
  tf.dispose(stages);
  return { f16, f8, f4 };
}

/**
 * The features of a picture, or of a prompted frame: the no-memory embedding is added. @returns the caller owns `f16`
 */
export function withoutMemory(w: Weights, maps: FrameMaps): SamFeatures {
  return { ...maps, f16: tf.tidy(() => maps.f16.add(w.get(`${SAM}.no_mem_embed`))) };
}

/**
 * SAM2's features of one image.
 * @param pixels [1, S, S, 3] normalised
 * @returns tensors the caller owns
 */
export function* encodeSam(w: Weights, config: Sam2Config, pixels: Tensor, probe?: Probe): Paced<SamFeatures> {
  const maps = yield* encodeFrame(w, config, pixels, probe);
  const features = withoutMemory(w, maps);
  maps.f16.dispose();
  return features;
}
