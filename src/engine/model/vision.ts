/**
 * InternViT and the pixel shuffle that follows it (docs/spec/sa2va.md#8-internvit,
 * docs/spec/sa2va.md#9-pixel-shuffle-and-projector). Frozen everywhere.
 */
import { badInput } from "../errors.ts";
import { attention } from "../gpu/kernels/attention/attention.ts";
import { conv2d } from "../gpu/kernels/conv.ts";
import { layerNorm, rmsNorm } from "../gpu/kernels/norm.ts";
import type { Paced } from "../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { headsOfPart } from "../gpu/tfjs/strided-copy.ts";
import type { Sa2vaConfig, VisionConfig } from "./config.ts";
import type { Probe } from "./probe.ts";
import { resizeBicubicClamped } from "./sam2/interpolation.ts";
import { activatedLayer, linearLayer } from "./weights/linear-layer.ts";
import type { Weights } from "./weights/weights.ts";

const EMBEDDINGS = "vision_model.embeddings";
const LAYERS = "vision_model.encoder.layers";

/**
 * Runs the tower up to `select_layer` and drops the class token; there is no final norm.
 * @param pixels normalised [n, S, S, 3], S a multiple of the patch size
 * @param probe receives `vit.embeddings` and `vit.layer.{i}`, class token included
 * @returns [n, (S / patch)², H], owned by the caller or its tidy
 */
export function* visionTower(w: Weights, config: VisionConfig, pixels: Tensor, probe?: Probe): Paced<Tensor> {
  const [count] = pixels.shape as [number];
  let stream = tf.tidy(() => embedPatches(w, config, pixels));
  try {
    probe?.("vit.embeddings", stream);
    yield;
    // Hidden states are [embeddings, block 0, …]; blocks after the selected one are not run.
    const blocks = config.layers + 1 + config.selectLayer;
    for (let layer = 0; layer < blocks; layer++) {
      const before = stream;
      stream = tf.tidy(() => block(w, config, `${LAYERS}.${layer}`, before));
      before.dispose();
      probe?.(`vit.layer.${layer}`, stream);
      yield;
    }
    const tokens = (stream.shape[1] as number) - 1;
    return tf.slice(stream, [0, 1, 0], [count, tokens, config.hiddenSize]);
  } finally {
    stream.dispose();
  }
}

function embedPatches(w: Weights, config: VisionConfig, pixels: Tensor): Tensor {
  const { patchSize, hiddenSize } = config;
  const bias = w.get(`${EMBEDDINGS}.patch_embedding.bias`);
  const patches = conv2d(pixels, w.get(`${EMBEDDINGS}.patch_embedding.weight`), bias, patchSize, 0);
  const [count, height, width] = patches.shape as [number, number, number, number];
  const first = tf.tile(w.get(`${EMBEDDINGS}.class_embedding`), [count, 1, 1]);
  const tokens = tf.concat([first, patches.reshape([count, height * width, hiddenSize])], 1);
  return tokens.add(resizedPositions(w.get(`${EMBEDDINGS}.position_embedding`), height, width));
}

/**
 * Position embedding for a grid of patches, resized bicubically if the grid differs from the stored one.
 * @param stored [1, 1 + side², C]; the first row is the class token's
 * @returns [1, 1 + height · width, C]
 */
export function resizedPositions(stored: Tensor, height: number, width = height): Tensor {
  const [, rows, size] = stored.shape as [number, number, number];
  const side = Math.sqrt(rows - 1);
  if (height === side && width === side) return stored;
  const first = tf.slice(stored, [0, 0, 0], [1, 1, size]);
  const grid = tf.slice(stored, [0, 1, 0], [1, side * side, size]).reshape([1, side, side, size]);
  const resized = resizeBicubicClamped(grid, height, width).reshape([1, height * width, size]);
  return tf.concat([first, resized], 1);
}

function block(w: Weights, config: VisionConfig, path: string, x: Tensor): Tensor {
  const mixed = selfAttention(w, config, `${path}.attn`, norm(w, config, `${path}.norm1`, x));
  const attended = x.add(mixed.mul(w.get(`${path}.ls1`)));
  const normed = norm(w, config, `${path}.norm2`, attended);
  const inner = activatedLayer(w, `${path}.mlp.fc1`, normed, "gelu");
  const outer = linearLayer(w, `${path}.mlp.fc2`, inner);
  return attended.add(outer.mul(w.get(`${path}.ls2`)));
}

function selfAttention(w: Weights, config: VisionConfig, path: string, x: Tensor): Tensor {
  const { heads, hiddenSize } = config;
  const [count, length] = x.shape as [number, number, number];
  const width = hiddenSize / heads;
  const all = linearLayer(w, `${path}.qkv`, x);
  const part = (index: number, name: string): Tensor => {
    if (!config.qkNormalization || index === 2) return headsOfPart(all, heads, index, 3);
    // The norm spans all heads, so it comes before they are separated.
    const rows = tf.slice(all, [0, 0, index * hiddenSize], [count, length, hiddenSize]);
    return headsOfPart(rmsNorm(rows, w.get(`${path}.${name}.weight`), config.normEps), heads);
  };
  const mixed = attention(part(0, "q_norm"), part(1, "k_norm"), part(2, "v"), 1 / Math.sqrt(width));
  const joined = mixed.transpose([0, 2, 1, 3]).reshape([count, length, hiddenSize]);
  return linearLayer(w, `${path}.proj`, joined);
}

function norm(w: Weights, config: VisionConfig, path: string, x: Tensor): Tensor {
  const weight = w.get(`${path}.weight`);
  return config.normType === "rms_norm"
    ? rmsNorm(x, weight, config.normEps)
    : layerNorm(x, weight, w.get(`${path}.bias`), config.normEps);
}

/**
 * Joins each 2 × 2 group of tokens into one of four times the width, in the order (0,0), (0,1), (1,0), (1,1).
 * @param x tokens of square grids, [n, side², C] or [n, side, side, C]
 * @returns [n, side²/4, 4C], row-major with `v2`, column-major with `v1`
 * @throws LabError("bad-input") when the tokens do not form a square of even side
 */
export function pixelShuffle(config: Pick<Sa2vaConfig, "psVersion">, x: Tensor): Tensor {
  const count = x.shape[0] as number;
  const width = x.shape[x.rank - 1] as number;
  const tokens = x.size / (count * width);
  const side = Math.sqrt(tokens);
  if (side % 2 !== 0) throw badInput(`${tokens} tokens do not form a square grid with an even side`);
  const half = side / 2;
  return tf.tidy(() => {
    const groups = x.reshape([count * half, 2, half, 2 * width]).transpose([0, 2, 1, 3]);
    const merged = groups.reshape([count, half, half, 4 * width]);
    const ordered = config.psVersion === "v1" ? merged.transpose([0, 2, 1, 3]) : merged;
    return ordered.reshape([count, half * half, 4 * width]);
  });
}
