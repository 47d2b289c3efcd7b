/** Qwen2.5-VL and Qwen3-VL: one picture of its own shape, whose size decides the number of visual tokens. */
import type { RgbImage } from "../../engine/data/sample.ts";
import { type Paced, tidied } from "../../engine/gpu/runtime/work-budget.ts";
import type { Tensor } from "../../engine/gpu/tf.ts";
import type { CutPicture, VisionFamily } from "../../engine/model/families/family.ts";
import type { NamedShape } from "../../engine/model/families/family-config.ts";
import type { Weights } from "../../engine/model/weights/weights.ts";
import { MERGE, type QwenVision, qwenVision } from "./config.ts";
import {
  isAccepted,
  picturePatches,
  qwenMerger,
  qwenTower,
  resizedPicture,
  smartResize,
  towerElements,
  VISUAL,
} from "./tower.ts";

/** Mean and standard deviation of the published preprocessor_config.json, on the 0..1 scale. */
const PIXELS: Readonly<
  Record<QwenVision["type"], { readonly mean: readonly number[]; readonly std: readonly number[] }>
> = {
  qwen2_5_vl: { mean: [0.48145466, 0.4578275, 0.40821073], std: [0.26862954, 0.26130258, 0.27577711] },
  qwen3_vl: { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
};

export const qwenVl: VisionFamily = {
  shapes: (config) => shapes(qwenVision(config)),
  projector: [`${VISUAL}.merger.`, `${VISUAL}.deepstack_merger_list.`],
  trainsProjector: false,
  cut: (config, picture, { resizeTwice = false }) => cut(qwenVision(config), picture, resizeTwice),
  grid(config, height, width) {
    const factor = MERGE * config.vision.patchSize;
    const size = smartResize(height, width, factor);
    return { rows: size.height / factor, cols: size.width / factor };
  },
  reached(config, pictures) {
    // Pictures that are refused take nothing.
    const accepted = pictures.filter(isAccepted);
    const grids = accepted.map(({ height, width }) => this.grid(config, height, width));
    const tokensPerTile = Math.max(1, ...grids.map(({ rows, cols }) => rows * cols));
    const tileSize = Math.ceil(Math.sqrt(Math.max(1, ...accepted.map(({ height, width }) => height * width))));
    return { ...config, tokensPerTile, tileSize };
  },
  cutFrame: (config, frame) => cut(qwenVision(config), frame, false),
  encode: (weights, config, tile) => encode(weights, qwenVision(config), tile),
  project: (weights, config, vision) => qwenMerger(weights, qwenVision(config), vision),
  work(config) {
    const { layers, hiddenSize, mlpSize, type, windowSide, fullBlocks } = qwenVision(config);
    const patches = MERGE ** 2 * config.tokensPerTile;
    const products = 4 * hiddenSize ** 2 + (type === "qwen2_5_vl" ? 3 : 2) * hiddenSize * mlpSize;
    const reach =
      windowSide === 0
        ? layers * patches
        : fullBlocks.length * patches + (layers - fullBlocks.length) * windowSide ** 2;
    return patches * (2 * layers * products + 4 * reach * hiddenSize);
  },
  sizes(config) {
    const vision = qwenVision(config);
    const planes = 1 + vision.deepstack.length;
    const features = planes * MERGE ** 2 * config.tokensPerTile * vision.hiddenSize;
    const projected = planes * config.tokensPerTile * config.language.hiddenSize;
    // A plane, its norm, and the hidden layer before and after the activation; then what is joined.
    const projection = 4 * features + 2 * projected;
    return { features, tower: towerElements(vision, config.tokensPerTile), projection, projected };
  },
  note: () => undefined,
  isTower: (name) => name.startsWith(`${VISUAL}.`),
};

function cut({ patchSize }: QwenVision, picture: RgbImage, twice: boolean): CutPicture {
  const tile = resizedPicture(picture, patchSize, twice);
  const factor = MERGE * patchSize;
  return { grid: { rows: tile.height / factor, cols: tile.width / factor }, tiles: [tile] };
}

function* encode(weights: Weights, vision: QwenVision, tile: RgbImage): Paced<Tensor> {
  const { patchSize, type } = vision;
  const grid = { rows: tile.height / patchSize, cols: tile.width / patchSize };
  return yield* tidied(function* () {
    const values = picturePatches(tile, patchSize, PIXELS[type].mean, PIXELS[type].std);
    return yield* qwenTower(weights, vision, values, grid);
  });
}

function shapes(config: QwenVision): NamedShape[] {
  const { hiddenSize: width, mlpSize, patchSize, outSize, positionSide, layers, deepstack } = config;
  const newer = config.type === "qwen3_vl";
  const list: NamedShape[] = [[`${VISUAL}.patch_embed.proj.weight`, [width, 3, 2, patchSize, patchSize]]];
  const linear = (path: string, outputs: number, inputs: number): void => {
    list.push([`${path}.weight`, [outputs, inputs]], [`${path}.bias`, [outputs]]);
  };
  const norm = (path: string, size: number): void => {
    list.push([`${path}.weight`, [size]]);
    if (newer) list.push([`${path}.bias`, [size]]);
  };
  if (newer) {
    list.push([`${VISUAL}.patch_embed.proj.bias`, [width]], [`${VISUAL}.pos_embed.weight`, [positionSide ** 2, width]]);
  }
  for (let layer = 0; layer < layers; layer++) {
    const path = `${VISUAL}.blocks.${layer}`;
    for (const own of ["norm1", "norm2"]) norm(`${path}.${own}`, width);
    linear(`${path}.attn.qkv`, 3 * width, width);
    linear(`${path}.attn.proj`, width, width);
    const wide = newer ? ["linear_fc1"] : ["gate_proj", "up_proj"];
    for (const own of wide) linear(`${path}.mlp.${own}`, mlpSize, width);
    linear(`${path}.mlp.${newer ? "linear_fc2" : "down_proj"}`, width, mlpSize);
  }
  const merger = (
    path: string,
    normPath: string,
    normSize: number,
    [first, second]: readonly [string, string],
  ): void => {
    norm(normPath, normSize);
    linear(`${path}.${first}`, 4 * width, 4 * width);
    linear(`${path}.${second}`, outSize, 4 * width);
  };
  const own = `${VISUAL}.merger`;
  if (newer) merger(own, `${own}.norm`, width, ["linear_fc1", "linear_fc2"]);
  else merger(own, `${own}.ln_q`, width, ["mlp.0", "mlp.2"]);
  for (const at of deepstack.keys()) {
    const path = `${VISUAL}.deepstack_merger_list.${at}`;
    merger(path, `${path}.norm`, 4 * width, ["linear_fc1", "linear_fc2"]);
  }
  return list;
}
