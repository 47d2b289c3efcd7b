/** Conditions a frame's features on the memories of earlier frames (docs/spec/video.md#5-memory-attention). */

import { attention } from "../../../engine/gpu/kernels/attention/attention.ts";
import { linear } from "../../../engine/gpu/kernels/linear.ts";
import { layerNorm } from "../../../engine/gpu/kernels/norm.ts";
import { repeatRows } from "../../../engine/gpu/kernels/repeat.ts";
import { applyRope, type RopeTable } from "../../../engine/gpu/kernels/rope.ts";
import { type Tensor, tf } from "../../../engine/gpu/tf.ts";
import type { Probe } from "../../../engine/model/probe.ts";
import type { Sam2Config } from "../../../engine/model/sam2/config.ts";
import { activatedLayer, addLayer, linearLayer } from "../../../engine/model/weights/linear-layer.ts";
import type { Weights } from "../../../engine/model/weights/weights.ts";
import { SAM } from "./video-shapes.ts";

// Axial rotary embedding of SAM2's memory attention (docs/spec/video.md#5-memory-attention). The published code
// rotates neighbouring channels. Here the rows of the query and key projections are reordered alike, which changes
// no product, so that the half-split rotation of the language models applies.

const THETA = 10000;

/**
 * Angles of every cell: the first half of the channel pairs rotate by the column's index, the second half by the row's.
 * @param channels of the single head, a multiple of 4
 * @returns [1, 1, height · width, channels / 2] each; owned by the caller
 */
export function axialTable(height: number, width: number, channels: number): RopeTable {
  const half = channels / 2;
  const quarter = channels / 4;
  const cos = new Float32Array(height * width * half);
  const sin = new Float32Array(cos.length);
  const frequencies = Float64Array.from({ length: quarter }, (_, j) => THETA ** ((-4 * j) / channels));
  let at = 0;
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      for (let pair = 0; pair < half; pair++, at++) {
        const angle = (pair < quarter ? column : row) * (frequencies[pair % quarter] as number);
        cos[at] = Math.cos(angle);
        sin[at] = Math.sin(angle);
      }
    }
  }
  const shape: [number, number, number, number] = [1, 1, height * width, half];
  return { cos: tf.tensor4d(cos, shape), sin: tf.tensor4d(sin, shape) };
}

/**
 * A query or key projection whose output has the first channels of all pairs before the second channels.
 * @param x [..., in]
 * @returns [..., C]
 */
export function pairedLinear(w: Weights, path: string, x: Tensor): Tensor {
  return tf.tidy(() => {
    const weight = w.get(`${path}.weight`);
    const [out, into] = weight.shape as [number, number];
    const rows = weight
      .reshape([out / 2, 2, into])
      .transpose([1, 0, 2])
      .reshape([out, into]);
    const bias = w
      .get(`${path}.bias`)
      .reshape([out / 2, 2])
      .transpose()
      .reshape([out]);
    return linear(x, rows, bias);
  });
}

const PATH = `${SAM}.memory_attention`;
const NORM_EPS = 1e-5;
/** Share of the neck's position embedding that is added to the features. */
const POSITION_SHARE = 0.1;

/** Constants that depend only on the size of the map; owned by the tracker. */
export interface MemoryConstants {
  readonly rope: RopeTable;
  /** Position embedding of the frame's cells, already scaled, [1, cells, C]. */
  readonly position: Tensor;
  /** Position embedding of a memory's cells without the time code, [1, cells, M]. */
  readonly memoryPosition: Tensor;
}

export function memoryConstants(config: Sam2Config): MemoryConstants {
  const side = config.imageSize / 16;
  const rows = (channels: number): Tensor =>
    tf.tidy(() =>
      tf
        .tensor2d(sinePositions(channels, side, side), [channels, side * side])
        .transpose()
        .reshape([1, side * side, channels]),
    );
  const position = tf.tidy(() => rows(config.hiddenDim).mul(POSITION_SHARE));
  return { rope: axialTable(side, side, config.hiddenDim), position, memoryPosition: rows(config.memory.dim) };
}

export function disposeConstants({ rope, position, memoryPosition }: MemoryConstants): void {
  tf.dispose([rope.cos, rope.sin, position, memoryPosition]);
}

/** The memories that a frame attends to. */
export interface MemoryKeys {
  /** Memory maps one after another, [B, n · cells, M]. */
  readonly maps: Tensor;
  /** Added to the maps to form their keys, [1, n · cells, M]. */
  readonly mapPositions: Tensor;
  /** Tokens of the object pointers, [B, p, M], p ≥ 1. */
  readonly pointers: Tensor;
  /** Added to the pointers to form their keys, [1, p, M]; absent in SAM 2.0. */
  readonly pointerPositions?: Tensor | undefined;
}

/**
 * @param f16 the frame's map without the no-memory embedding, [1, h, w, C]
 * @returns [B, h, w, C], owned by the caller or its tidy
 */
export function memoryAttention(
  w: Weights,
  config: Sam2Config,
  constants: MemoryConstants,
  f16: Tensor,
  keys: MemoryKeys,
  probe?: Probe,
): Tensor {
  return tf.tidy(() => {
    const [, height, width, channels] = f16.shape as [number, number, number, number];
    const { rope, position } = constants;
    const { maps, pointers, pointerPositions } = keys;
    const mapKeys = maps.add(keys.mapPositions);
    const pointerKeys = pointerPositions === undefined ? pointers : pointers.add(pointerPositions);
    // All objects share one row until the first cross-attention to the memories.
    let x = f16.reshape([1, height * width, channels]).add(position) as Tensor;
    const update = (next: (given: Tensor) => Tensor): void => {
      const y = tf.tidy(() => next(x));
      x.dispose();
      x = y;
    };
    for (let layer = 0; layer < config.memory.layers; layer++) {
      const path = `${PATH}.layers.${layer}`;
      update((given) => {
        const y = normed(w, `${path}.norm1`, given);
        return given.add(selfAttention(w, `${path}.self_attn`, y, rope));
      });
      update((given) => {
        const y = normed(w, `${path}.norm2`, given);
        const own = `${path}.cross_attn_image`;
        const turned = [rotated(w, `${own}.k_proj`, mapKeys, rope), pairedLinear(w, `${own}.k_proj`, pointerKeys)];
        const values = [maps, pointers].map((part) => linearLayer(w, `${own}.v_proj`, part));
        const queries = rotated(w, `${own}.q_proj`, y, rope);
        const batch = (maps.shape[0] as number) / (queries.shape[0] as number);
        return given.add(attend(w, own, repeatRows(queries, batch), tf.concat(turned, 1), tf.concat(values, 1)));
      });
      update((given) => {
        const y = normed(w, `${path}.norm3`, given);
        return addLayer(w, `${path}.linear2`, activatedLayer(w, `${path}.linear1`, y, "relu"), given);
      });
      probe?.(`attention.layer.${layer}`, x);
    }
    const out = normed(w, `${PATH}.norm`, x).reshape([-1, height, width, channels]);
    probe?.("attention.out", out);
    return out;
  });
}

function selfAttention(w: Weights, path: string, x: Tensor, rope: RopeTable): Tensor {
  const values = linearLayer(w, `${path}.v_proj`, x);
  return attend(w, path, rotated(w, `${path}.q_proj`, x, rope), rotated(w, `${path}.k_proj`, x, rope), values);
}

/**
 * A projection rotated by the position of each cell; each of the `n` maps has the same angles. [B, n · cells, in] → [B,
 * n · cells, C]
 */
function rotated(w: Weights, path: string, x: Tensor, rope: RopeTable): Tensor {
  const [batch, length] = x.shape as [number, number];
  const cells = rope.cos.shape[2] as number;
  const y = pairedLinear(w, path, x);
  const width = y.shape[2] as number;
  return applyRope(y.reshape([(batch * length) / cells, 1, cells, width]), rope).reshape([batch, length, width]);
}

/** Attention with one head over all channels, and the output projection. */
function attend(w: Weights, path: string, queries: Tensor, keys: Tensor, values: Tensor): Tensor {
  const head = (x: Tensor): Tensor => x.reshape([x.shape[0] as number, 1, x.shape[1] as number, x.shape[2] as number]);
  const width = queries.shape[2] as number;
  const mixed = attention(head(queries), head(keys), head(values), 1 / Math.sqrt(width));
  return linearLayer(w, `${path}.out_proj`, mixed.reshape(queries.shape));
}

function normed(w: Weights, path: string, x: Tensor): Tensor {
  return layerNorm(x, w.get(`${path}.weight`), w.get(`${path}.bias`), NORM_EPS);
}

/**
 * Normalised sine position embedding of SAM2's neck (docs/spec/sa2va.md#13-sam2-image-encoder). The image path does
 * not use it; memory attention over video frames does.
 * @param channels multiple of 4: the first half encodes y, the second x
 * @returns [channels, height, width], sines and cosines interleaved
 */
export function sinePositions(channels: number, height: number, width: number): Float32Array {
  const half = channels / 2;
  const out = new Float32Array(channels * height * width);
  for (let channel = 0; channel < channels; channel++) {
    const index = channel % half;
    const period = 10000 ** ((2 * Math.floor(index / 2)) / half);
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const part = channel < half ? (y + 1) / (height + 1e-6) : (x + 1) / (width + 1e-6);
        const angle = (part * 2 * Math.PI) / period;
        out[(channel * height + y) * width + x] = index % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
      }
    }
  }
  return out;
}
