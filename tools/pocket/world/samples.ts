/**
 * Training pictures of the pocket model, drawn at the sizes that the towers read, and its held-out pictures, drawn
 * large.
 */
import type { RgbImage } from "../../../src/engine/data/sample.ts";
import { atOnce } from "../../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { internVit } from "../../../src/engine/model/families/internvl/config.ts";
import { normalisePixels } from "../../../src/engine/model/preprocess/tiling.ts";
import type { Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { encodeSam } from "../../../src/engine/model/sam2/hiera.ts";
import { pixelShuffle, visionTower } from "../../../src/engine/model/vision.ts";
import type { Weights } from "../../../src/engine/model/weights/weights.ts";
import type { PictureFeatures } from "../../../src/plugins/supervised/forward.ts";
import { type CellWords, type PocketRegion, shrink } from "../batch.ts";
import { allWords, describe, drawDiscriminating, drawUnambiguous, drawVague } from "./describe.ts";
import { type Dice, sceneDice } from "./dice.ts";
import { renderScene } from "./draw.ts";
import { type Extent, extentPicture } from "./extent.ts";
import { BELL } from "./kinds.ts";
import { drawScene, kindOf, place, type Scene, type SceneWishes, sizeOf, type Thing } from "./scene.ts";

/** Share of captions that identify their region; the others only name it, so that sampling has alternatives. */
const DISCRIMINATING = 0.5;

export interface PocketPicture {
  readonly rgb: RgbImage;
  readonly regions: readonly PocketRegion[];
  readonly scene: Scene;
  /** For every object of the scene, 1 where it is visible, else 0. */
  readonly masks: readonly Uint8Array[];
}

export interface OverlappingPicture extends PocketPicture {
  /** What its two regions differ in. */
  readonly extent: Extent;
}

/** In every other picture of the world "bells" one object is a bell, and the first described. */
const bellsIn = (index: number): SceneWishes => (index % 2 === 1 ? { kind: BELL, alike: 1 } : {});

export interface PocketWishes {
  /** Share of captions that identify their region, 0..1. */
  readonly discriminating?: number;
  /** Draws the world "bells". */
  readonly bells?: boolean;
}

/**
 * @param regions number of described objects; objects repeat if the scene has fewer
 * @param pixels side of picture and masks
 */
export function pocketPicture(
  seed: number,
  index: number,
  regions: number,
  pixels: number,
  { discriminating = DISCRIMINATING, bells = false }: PocketWishes = {},
): PocketPicture {
  const dice = sceneDice(seed, index);
  const scene = drawScene(dice, bells ? bellsIn(index) : {});
  const { rgb, masks } = renderScene(scene, pixels);
  const drawn = Math.floor(dice() * scene.things.length);
  const bell = scene.things.findIndex(({ kind }) => kind === BELL);
  const first = bell < 0 ? drawn : bell;
  const own = Array.from({ length: regions }, (_, at) => {
    const thing = (first + at) % scene.things.length;
    return region(scene, thing, masks[thing] as Uint8Array, pixels, dice, discriminating);
  });
  return { scene, rgb, masks, regions: own };
}

/** A training picture with overlapping regions: its captions are phrases that are true of one region only. */
export function overlappingPicture(seed: number, index: number, pixels: number): OverlappingPicture {
  const { extent, scene, rgb, masks, regions } = extentPicture(seed, index, pixels);
  const size = { height: pixels, width: pixels };
  const described = regions.map(({ mask, caption, thing }) => {
    return { mask, ...size, caption, phrase: caption, words: allWords(thing) };
  });
  return { extent, scene, rgb, masks, regions: described };
}

/** Phrases are true of one object only; for others no mask would be right. */
function region(
  scene: Scene,
  index: number,
  mask: Uint8Array,
  pixels: number,
  dice: Dice,
  discriminating: number,
): PocketRegion {
  const thing = scene.things[index] as Thing;
  const size = { height: pixels, width: pixels };
  // Neither caption, phrase nor naming loss says anything of a bell but what it is.
  if (thing.kind === BELL) return { mask, ...size, caption: "a bell", phrase: "the bell", words: ["bell"] };
  const phrase = drawUnambiguous(thing, scene, dice);
  const caption = dice() < discriminating ? drawDiscriminating(thing, scene, dice) : drawVague(thing, scene, dice);
  return {
    mask,
    ...size,
    caption: describe(caption, dice),
    phrase: describe(phrase, dice),
    words: allWords(thing),
  };
}

/** An object labels a token of which it covers at least this share. */
const COVERS = 0.3;

/** For every token of the picture, its place and, if an object covers it, the object's words. */
export function cellWords(picture: Pick<PocketPicture, "scene" | "masks" | "rgb">, grid: number): CellWords {
  const { things } = picture.scene;
  const { width } = picture.rgb;
  const covered = picture.masks.map((mask) => shrink(mask, width, width, grid));
  return Array.from({ length: grid * grid }, (_, cell) => {
    const x = ((cell % grid) + 0.5) / grid;
    const y = (Math.floor(cell / grid) + 0.5) / grid;
    const thing = things.find((_, at) => (covered[at]?.[cell] as number) >= COVERS);
    const where = place({ x, y }).split(" ");
    if (thing === undefined) return where;
    const word = kindOf(thing).words[0] as string;
    return thing.kind === BELL ? [...where, word] : [...where, thing.colour, word, sizeOf(thing)];
  });
}

/** Pixels of both towers for n pictures; owned by the caller. */
export function towerInputs(
  model: Sa2vaModel,
  pictures: readonly PocketPicture[],
): { readonly vision: Tensor; readonly sam: Tensor } {
  const stack = (side: number): Tensor => {
    const pixels = new Float32Array(pictures.length * side * side * 3);
    pictures.forEach(({ rgb, scene }, at) => {
      const sized = rgb.width === side ? rgb : renderScene(scene, side).rgb;
      pixels.set(normalisePixels(sized.data), at * side * side * 3);
    });
    return tf.tensor4d(pixels, [pictures.length, side, side, 3]);
  };
  return { vision: stack(model.config.tileSize), sam: stack(model.config.sam2.imageSize) };
}

/** Both towers under `weights`, on the current tape. */
export function runTowers(
  model: Sa2vaModel,
  weights: Weights,
  inputs: ReturnType<typeof towerInputs>,
): PictureFeatures {
  const vision = pixelShuffle(model.config, atOnce(visionTower(weights, internVit(model.config), inputs.vision)));
  return { vision, sam: atOnce(encodeSam(weights, model.config.sam2, inputs.sam)) };
}
