/** InternVL: square tiles of one size and a thumbnail. */
import type { RgbImage } from "../../../data/sample.ts";
import { tidied } from "../../../gpu/runtime/work-budget.ts";
import { tf } from "../../../gpu/tf.ts";
import type { Sa2vaConfig } from "../../config.ts";
import { resizeBicubic } from "../../preprocess/pillow-bicubic.ts";
import { normalisePixels } from "../../preprocess/pixels.ts";
import { imageTiles } from "../../preprocess/tiling.ts";
import { projectVisual } from "../../projector.ts";
import { pixelShuffle, visionTower } from "../../vision.ts";
import type { VisionFamily } from "../family.ts";
import { internVit, PUBLISHED_MAX_TILES } from "./config.ts";
import { projectorShapes, visionShapes } from "./shapes.ts";

const gridOf = ({ tokenGridSide: side }: Sa2vaConfig) => ({ rows: side, cols: side });

export const internVl: VisionFamily = {
  shapes: (config) => [
    ...visionShapes(internVit(config)),
    ...projectorShapes(4 * config.vision.hiddenSize, config.language.hiddenSize),
  ],
  projector: ["mlp1."],
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
  work({ tileSize, vision: { patchSize, layers, hiddenSize, mlpSize } }) {
    const patches = (tileSize / patchSize) ** 2 + 1;
    return (
      patches * (2 * layers * (4 * hiddenSize ** 2 + 2 * hiddenSize * mlpSize) + 4 * layers * patches * hiddenSize)
    );
  },
  sizes({ tokensPerTile, tileSize, vision: { patchSize, hiddenSize } }) {
    return { features: tokensPerTile * 4 * hiddenSize, stream: ((tileSize / patchSize) ** 2 + 1) * hiddenSize };
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
