/** Clips of moving drawings for training and measurement; the frames of a step are below each other. */
import { stacked } from "../../../src/engine/data/film-strip.ts";
import type { RgbImage } from "../../../src/engine/data/sample.ts";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { resizeBicubic } from "../../../src/engine/model/preprocess/pillow-bicubic.ts";
import { normalisePixels } from "../../../src/engine/model/preprocess/tiling.ts";
import type { Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import { joined } from "../../../src/plugins/supervised/batch.ts";
import type { CellWords, PocketRegion } from "../batch.ts";
import { allWords, describe, drawVague } from "./describe.ts";
import { type Dice, pick, sceneDice } from "./dice.ts";
import { type DrawnScene, renderScene } from "./draw.ts";
import { type Clip, describeMotion, drawClip, sceneAt } from "./motion.ts";
import { cellWords, type towerInputs } from "./samples.ts";
import { doublesFirst, drawScene, type Scene, type Thing } from "./scene.ts";

/** Pixels of a frame's side, as in the demo clips. */
const SIDE = 96;
/** Share of clips with one more frame than a step uses. */
const LONGER = 0.5;
/** Share of training captions that only name their object, so that sampling has alternatives. */
const VAGUE = 0.5;
/** Fewer frames than these are spread evenly, so that their ends show the whole motion. */
const DRAWN_FROM = 5;

export interface PocketClip {
  /** The frames that a step uses, as drawn. */
  readonly frames: readonly (DrawnScene & { readonly scene: Scene })[];
  readonly clip: Clip;
  /** Masks are strips of the frames. */
  readonly regions: readonly PocketRegion[];
}

export interface ClipWishes {
  /** Described objects; the first has a double if any has. */
  readonly regions: number;
  readonly frames: number;
  /** For measurement: six evenly spread frames, every caption with its motion. */
  readonly heldOut?: boolean;
}

export function pocketClip(
  seed: number,
  index: number,
  { regions, frames: seen, heldOut = false }: ClipWishes,
): PocketClip {
  const dice = sceneDice(seed, index);
  const clip = drawClip(drawScene(dice), dice);
  const { things } = clip.scene;
  const [double = 0, ...others] = doublesFirst(clip.scene);
  const spread = heldOut || seen < DRAWN_FROM;
  const frames = (spread ? evenly(seen, Math.max(6, seen)) : someOf(seen, dice)).map((time) => {
    const scene = sceneAt(clip, time);
    return { ...renderScene(scene, SIDE), scene };
  });
  const middle = sceneAt(clip, 0.5);
  const own = Array.from({ length: regions }, (_, at): PocketRegion => {
    const thing = at === 0 || others.length === 0 ? double : pick(dice, others);
    const phrase = describeMotion(clip, thing, dice);
    const vague = !heldOut && dice() < VAGUE;
    const named = things[thing] as Thing;
    return {
      mask: stacked(frames.map(({ masks }) => masks[thing] as Uint8Array)),
      height: SIDE * seen,
      width: SIDE,
      caption: vague ? describe(drawVague(named, clip.scene, dice), dice) : describeMotion(clip, thing, dice),
      phrase,
      words: allWords(middle.things[thing] as Thing),
    };
  });
  return { frames, clip, regions: own };
}

/** Times of frames drawn from a clip, ascending in 0..1. */
function someOf(seen: number, dice: Dice): number[] {
  const total = seen + Number(dice() < LONGER);
  const kept = Array.from({ length: total }, (_, frame) => frame);
  while (kept.length > seen) kept.splice(Math.floor(dice() * kept.length), 1);
  return kept.map((frame) => frame / (total - 1));
}

function evenly(seen: number, total: number): number[] {
  return Array.from({ length: seen }, (_, at) => Math.round((at * (total - 1)) / (seen - 1)) / (total - 1));
}

/** The frames below each other. */
export function stripOf({ frames }: PocketClip): RgbImage {
  const data = stacked(frames.map(({ rgb }) => rgb.data));
  return { width: SIDE, height: SIDE * frames.length, data };
}

/** Words of every token of every frame, frame after frame. */
export function clipWords({ frames }: PocketClip, grid: number): CellWords {
  return frames.flatMap((frame) => cellWords(frame, grid));
}

/** Pixels of both towers for all frames of some clips, enlarged as in the lab; owned by the caller. */
export function clipInputs(model: Sa2vaModel, clips: readonly PocketClip[]): ReturnType<typeof towerInputs> {
  const frames = clips.flatMap((clip) => clip.frames);
  const stack = (side: number) => {
    const pixels = joined(frames.map(({ rgb }) => normalisePixels(resizeBicubic(rgb, side, side).data)));
    return tf.tensor4d(pixels, [frames.length, side, side, 3]);
  };
  return { vision: stack(model.config.tileSize), sam: stack(model.config.sam2.imageSize) };
}
