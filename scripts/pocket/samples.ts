/** Training pictures of the pocket model, drawn at the sizes the towers read, and its held-out pictures, drawn large. */
import type { RgbImage } from "../../src/engine/data/sample.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { resizeBicubic } from "../../src/engine/model/preprocess/pillow-bicubic.ts";
import { normalisePixels } from "../../src/engine/model/preprocess/pixels.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { encodeSam } from "../../src/engine/model/sam2/neck.ts";
import { pixelShuffle, visionTower } from "../../src/engine/model/vision.ts";
import type { Weights } from "../../src/engine/model/weights.ts";
import { type CellWords, type SftRegion, shrink } from "../../src/engine/sft/batch.ts";
import type { PictureFeatures } from "../../src/engine/sft/forward.ts";
import { renderMask, renderScene } from "./draw.ts";
import {
  captionText,
  type Description,
  drawDescription,
  drawDiscriminating,
  drawScene,
  type Scene,
  sceneDice,
  side,
  sizeWord,
} from "./scene.ts";

/** Share of grounding phrases that are true of one thing only. */
const DISCRIMINATING = 0.85;

export interface PocketPicture {
  readonly rgb: RgbImage;
  readonly regions: readonly SftRegion[];
  readonly scene: Scene;
}

/**
 * @param regions described things; things come again when the scene has fewer
 * @param pixels side of picture and masks
 */
export function pocketPicture(seed: number, index: number, regions: number, pixels: number): PocketPicture {
  const dice = sceneDice(seed, index);
  const scene = drawScene(dice);
  const first = Math.floor(dice() * scene.things.length);
  return {
    scene,
    rgb: renderScene(scene, pixels),
    regions: Array.from({ length: regions }, (_, at) =>
      region(scene, (first + at) % scene.things.length, pixels, dice),
    ),
  };
}

function region(scene: Scene, index: number, pixels: number, dice: () => number): SftRegion {
  const thing = scene.things[index] as Scene["things"][number];
  const phrase = dice() < DISCRIMINATING ? drawDiscriminating(thing, scene, dice) : drawDescription(thing, scene, dice);
  return {
    mask: renderMask(thing, pixels),
    height: pixels,
    width: pixels,
    caption: captionText(drawDescription(thing, scene, dice)),
    phrase: captionText(phrase),
    words: ownWords(phrase),
  };
}

/** What a description says of its thing, without the neighbour's words. */
function ownWords({ thing, size, colour, place }: Description): string[] {
  const where = place ? side(thing).split(" ") : [];
  return [thing.shape, ...(size ? [sizeWord(thing)] : []), ...(colour ? [thing.colour] : []), ...where];
}

/** A thing names a token of which it covers at least this share. */
const COVERS = 0.3;

/** For every token of the picture where it is and, when a thing covers it, which. */
export function cellWords(picture: PocketPicture, grid: number): CellWords {
  const { things } = picture.scene;
  const { width } = picture.rgb;
  const covered = things.map((thing) => shrink(renderMask(thing, width), width, width, grid));
  return Array.from({ length: grid * grid }, (_, cell) => {
    const x = ((cell % grid) + 0.5) / grid;
    const y = (Math.floor(cell / grid) + 0.5) / grid;
    const at = things.findIndex((_, index) => (covered[index]?.[cell] as number) >= COVERS);
    const thing = things[at];
    return [...side({ x, y }).split(" "), ...(thing === undefined ? [] : [thing.colour, thing.shape])];
  });
}

/** Pixels of both towers for n pictures; owned by the caller. */
export function towerInputs(
  model: Sa2vaModel,
  pictures: readonly PocketPicture[],
): { readonly vision: Tensor; readonly sam: Tensor } {
  const stack = (side: number): Tensor => {
    const pixels = new Float32Array(pictures.length * side * side * 3);
    pictures.forEach(({ rgb }, at) => {
      const sized = rgb.width === side && rgb.height === side ? rgb : resizeBicubic(rgb, side, side);
      pixels.set(normalisePixels(sized.data), at * side * side * 3);
    });
    return tf.tensor4d(pixels, [pictures.length, side, side, 3]);
  };
  return { vision: stack(model.config.tileSize), sam: stack(model.config.sam2.imageSize) };
}

/** Both towers under `weights`, on whatever tape runs. */
export function runTowers(
  model: Sa2vaModel,
  weights: Weights,
  inputs: ReturnType<typeof towerInputs>,
): PictureFeatures {
  const vision = pixelShuffle(model.config, visionTower(weights, model.config.vision, inputs.vision));
  return { vision, sam: encodeSam(weights, model.config.sam2, inputs.sam) };
}
