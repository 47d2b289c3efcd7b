/** InternVL: square tiles of one size and a thumbnail. */

import type { RgbImage } from "../../../data/sample.ts";
import { layerNorm } from "../../../gpu/kernels/norm.ts";
import { tidied } from "../../../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../gpu/tf.ts";
import type { Sa2vaConfig } from "../../config.ts";
import { resizeBicubic } from "../../preprocess/pillow-bicubic.ts";
import { chooseGrid, imageTiles, normalisePixels } from "../../preprocess/tiling.ts";
import { pixelShuffle, visionTower } from "../../vision.ts";
import { activatedLayer, linearLayer } from "../../weights/linear-layer.ts";
import type { Weights } from "../../weights/weights.ts";
import type { VisionFamily } from "../family.ts";
import type { NamedShape } from "../family-config.ts";
import { internVit, PUBLISHED_MAX_TILES, type VisionConfig } from "./config.ts";

// Projects vision tokens to the language model's width (docs/spec/sa2va.md#9-pixel-shuffle-and-projector).

const NORM_EPS = 1e-5;
/** Arrays that a block of the tower holds, in units of its stream. */
const BLOCK_ARRAYS = 30;

/**
 * LayerNorm, linear, GELU, linear. Differentiable in x and in `mlp1.*`.
 * @param x pixel-shuffled vision tokens [n, tokens, 4H]
 * @returns [n, tokens, D]
 */
export function projectVisual(w: Weights, x: Tensor): Tensor {
  return tf.tidy(() => {
    const normed = layerNorm(x, w.get("mlp1.0.weight"), w.get("mlp1.0.bias"), NORM_EPS);
    return linearLayer(w, "mlp1.3", activatedLayer(w, "mlp1.1", normed, "gelu"));
  });
}

/** Names and shapes of InternViT and its projector (docs/spec/sa2va.md#4-tensor-names-and-shapes). */
export function visionShapes(config: VisionConfig): NamedShape[] {
  const { hiddenSize: width, mlpSize, patchSize } = config;
  const patches = (config.imageSize / patchSize) ** 2;
  const shapes: NamedShape[] = [
    ["vision_model.embeddings.class_embedding", [1, 1, width]],
    ["vision_model.embeddings.position_embedding", [1, patches + 1, width]],
    ["vision_model.embeddings.patch_embedding.weight", [width, 3, patchSize, patchSize]],
    ["vision_model.embeddings.patch_embedding.bias", [width]],
  ];
  for (let layer = 0; layer < config.layers; layer++) {
    const path = `vision_model.encoder.layers.${layer}`;
    for (const norm of ["norm1", "norm2"]) {
      shapes.push([`${path}.${norm}.weight`, [width]]);
      if (config.normType === "layer_norm") shapes.push([`${path}.${norm}.bias`, [width]]);
    }
    shapes.push([`${path}.attn.qkv.weight`, [3 * width, width]]);
    if (config.qkvBias) shapes.push([`${path}.attn.qkv.bias`, [3 * width]]);
    if (config.qkNormalization) {
      shapes.push([`${path}.attn.q_norm.weight`, [width]], [`${path}.attn.k_norm.weight`, [width]]);
    }
    shapes.push(
      [`${path}.attn.proj.weight`, [width, width]],
      [`${path}.attn.proj.bias`, [width]],
      [`${path}.mlp.fc1.weight`, [mlpSize, width]],
      [`${path}.mlp.fc1.bias`, [mlpSize]],
      [`${path}.mlp.fc2.weight`, [width, mlpSize]],
      [`${path}.mlp.fc2.bias`, [width]],
      [`${path}.ls1`, [width]],
      [`${path}.ls2`, [width]],
    );
  }
  return shapes;
}

/** @param merged width of four tokens side by side @param width of the language model */
function projectorShapes(merged: number, width: number): NamedShape[] {
  return [
    ["mlp1.0.weight", [merged]],
    ["mlp1.0.bias", [merged]],
    ["mlp1.1.weight", [width, merged]],
    ["mlp1.1.bias", [width]],
    ["mlp1.3.weight", [width, width]],
    ["mlp1.3.bias", [width]],
  ];
}

const gridOf = ({ tokenGridSide: side }: Sa2vaConfig) => ({ rows: side, cols: side });

export const internVl: VisionFamily = {
  shapes: (config) => [
    ...visionShapes(internVit(config)),
    ...projectorShapes(4 * config.vision.hiddenSize, config.language.hiddenSize),
  ],
  projector: ["mlp1."],
  trainsProjector: true,
  cut(config, picture, { maxTiles, tiling }) {
    const most = Math.min(maxTiles, tiling.maxTiles);
    const { tiles, count } = imageTiles(picture, {
      ...tiling,
      minTiles: Math.min(tiling.minTiles, most),
      maxTiles: most,
    });
    const [side, each] = [tiling.tileSize, tiles.length / count];
    return {
      grid: gridOf(config),
      tiles: Array.from({ length: count }, (_, at): RgbImage => {
        return { width: side, height: side, data: tiles.subarray(at * each, (at + 1) * each) };
      }),
    };
  },
  grid: gridOf,
  cutFrame: (config, frame) => ({
    grid: gridOf(config),
    tiles: [resizeBicubic(frame, config.tileSize, config.tileSize)],
  }),
  *encode(weights, config, { width, height, data }) {
    return yield* tidied(function* () {
      const pixels = tf.tensor4d(normalisePixels(data), [1, height, width, 3]);
      return pixelShuffle(config, yield* visionTower(weights, internVit(config), pixels));
    });
  },
  project: (weights, _, vision) => projectVisual(weights, vision),
  reached(config, pictures) {
    const grids = pictures.map(({ width, height }) => chooseGrid(width, height, config));
    return { ...config, maxTiles: Math.max(...grids.map(({ cols, rows }) => cols * rows)) };
  },
  work({ tileSize, vision: { patchSize, layers, hiddenSize, mlpSize } }) {
    const patches = (tileSize / patchSize) ** 2 + 1;
    return (
      patches * (2 * layers * (4 * hiddenSize ** 2 + 2 * hiddenSize * mlpSize) + 4 * layers * patches * hiddenSize)
    );
  },
  sizes({ tokensPerTile, tileSize, vision: { patchSize, hiddenSize }, language }) {
    const stream = ((tileSize / patchSize) ** 2 + 1) * hiddenSize;
    const features = tokensPerTile * 4 * hiddenSize;
    const projected = tokensPerTile * language.hiddenSize;
    return { features, tower: BLOCK_ARRAYS * stream, projection: 2 * features + 3 * projected, projected };
  },
  note({ maxTiles, minTiles, useThumbnail, dynamicImageSize }) {
    const tiles = [
      ...(minTiles === 1 ? [] : [`min_dynamic_patch ${minTiles}`]),
      ...(maxTiles === PUBLISHED_MAX_TILES ? [] : [`max_dynamic_patch ${maxTiles}`]),
      ...(useThumbnail ? [] : ["use_thumbnail false"]),
    ];
    const fields = dynamicImageSize ? tiles : ["dynamic_image_size false"];
    if (fields.length === 0) return undefined;
    return (
      `config.json sets ${fields.join(", ")}, which is followed here. Sa2VA's published code ignores it and cuts pictures into ` +
      `1 to ${PUBLISHED_MAX_TILES} tiles with a thumbnail, so its results can differ`
    );
  },
  isTower: (name) => name.startsWith("vision_model."),
};
