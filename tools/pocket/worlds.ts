/** Training data of the pocket model: the pictures and clips of a step, and the held-out ones. */
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { Sa2vaModel } from "../../src/engine/model/sa2va.ts";
import { type Weights, weightsView } from "../../src/engine/model/weights/weights.ts";
import { pocketBatch } from "./batch.ts";
import type { HeldOutPicture } from "./evaluate.ts";
import type { MicroBatch } from "./trainer.ts";
import { clipInputs, clipWords, pocketClip, stripOf } from "./world/clip-samples.ts";
import { GRID } from "./world/model-files.ts";
import {
  cellWords,
  overlappingPicture,
  type PocketPicture,
  pocketPicture,
  runTowers,
  towerInputs,
} from "./world/samples.ts";

export const WORLDS = ["pictures", "extent", "clips", "bells"] as const;
export type World = (typeof WORLDS)[number];

/** Rows are padded to these lengths, so that shapes, pipelines and the buffer pool stay the same from step to step. */
const SHAPE = { captionTokens: 52, segmentTokens: 24 } as const;
/** Phrases of two objects with their places are longer. */
const LONG_SHAPE = { ...SHAPE, captionTokens: 96, segmentTokens: 40 } as const;
/** A finer grid puts more visual tokens of a region into its prompt, up to about a third of the picture's. */
const FINE_CAPTION_TOKENS = 128;
const DRAWN_SIDE = 128;
const HELD_OUT_SEED = 20_260_101;
const HELD_OUT_SIDE = 256;
/** Share of held-out captions that identify their region, as in the demo shards. */
const HELD_OUT_CAPTIONS = { discriminating: 0.85 };
/** Seed of clips, besides that of pictures. */
const CLIP_SEED = 1_000_003;
/** Frames of the clips of a step; steps alternate. Most often as many as a run uses by default. */
const FRAMES = [5, 3, 5, 4] as const;
const HELD_OUT_FRAMES = 5;
const CLIP_REGIONS = 2;

export interface StepWishes {
  readonly seed: number;
  readonly step: number;
  readonly pictures: number;
  /** Described regions per picture. */
  readonly regions: number;
  /** Clips in the world of clips. */
  readonly clips: number;
}

export interface StepData {
  readonly micro: readonly MicroBatch[];
  readonly tensors: readonly Tensor[];
}

/** Micro-batches of a step; the caller disposes `tensors`. Towers train, except in the world of clips. */
export function stepData(model: Sa2vaModel, world: World, wishes: StepWishes): StepData {
  const { seed, step, pictures, regions } = wishes;
  const drawn = Array.from({ length: pictures }, (_, at) => {
    const index = step * pictures + at;
    const overlapping = world === "extent" && index % 2 === 1;
    // Kinds of overlap alternate over their pictures.
    if (overlapping) return overlappingPicture(seed, Math.floor(index / 2), DRAWN_SIDE);
    return pocketPicture(seed, index, regions, DRAWN_SIDE, { bells: world === "bells" });
  });
  const batch = pocketBatch(
    model,
    { tiles: 1 },
    drawn.map((picture) => picture.regions),
    shapeOf(world, model.config.tokenGridSide),
    drawn.map((picture) => cellWords(picture, model.config.tokenGridSide)),
  );
  const pixels = towerInputs(model, drawn);
  if (world !== "clips") {
    const features = (weights: Weights) => runTowers(model, weights, pixels);
    return { micro: [{ batch, features }], tensors: [pixels.vision, pixels.sam] };
  }
  const micro = [{ batch, features: frozenFeatures(model, pixels) }, clipBatch(model, wishes)];
  return { micro, tensors: micro.flatMap(({ features: { vision, sam } }) => [vision, sam.f16, sam.f8, sam.f4]) };
}

/** Padded lengths of a batch. @param grid visual tokens along a side */
export function shapeOf(world: World, grid: number) {
  const shape = world === "extent" ? LONG_SHAPE : SHAPE;
  return grid > GRID ? { ...shape, captionTokens: FINE_CAPTION_TOKENS } : shape;
}

function clipBatch(model: Sa2vaModel, { seed, step, clips }: StepWishes) {
  const frames = FRAMES[step % FRAMES.length] as number;
  const wishes = { regions: CLIP_REGIONS, frames };
  const drawn = Array.from({ length: clips }, (_, at) => pocketClip(seed + CLIP_SEED, step * clips + at, wishes));
  const batch = pocketBatch(
    model,
    { tiles: 1 },
    drawn.map((clip) => clip.regions),
    { frames },
    drawn.map((clip) => clipWords(clip, model.config.tokenGridSide)),
  );
  return { batch, features: frozenFeatures(model, clipInputs(model, drawn)) };
}

/** Features of the stored towers. Consumes the pixels. */
function frozenFeatures(model: Sa2vaModel, pixels: ReturnType<typeof towerInputs>) {
  const weights = weightsView(new Map([...model.frozen, ...model.base]), {}, 0);
  const features = tf.tidy(() => {
    const { vision, sam } = runTowers(model, weights, pixels);
    return { vision, sam: { ...sam } };
  });
  tf.dispose([pixels.vision, pixels.sam]);
  return features;
}

/** Pictures that no step uses. */
export function heldOutPictures(world: World, count: number): PocketPicture[] {
  return Array.from({ length: count }, (_, at) =>
    world === "extent" && at % 2 === 1
      ? overlappingPicture(HELD_OUT_SEED, Math.floor(at / 2), HELD_OUT_SIDE)
      : pocketPicture(HELD_OUT_SEED, at, 2, HELD_OUT_SIDE, { ...HELD_OUT_CAPTIONS, bells: world === "bells" }),
  );
}

/** Clips that no step uses, each with one masklet as in the demo clips. */
export function heldOutClips(count: number, seed = HELD_OUT_SEED + CLIP_SEED): HeldOutPicture[] {
  return Array.from({ length: count }, (_, at) => {
    const clip = pocketClip(seed, at, { regions: 1, frames: HELD_OUT_FRAMES, heldOut: true });
    return { rgb: stripOf(clip), regions: clip.regions, frames: HELD_OUT_FRAMES };
  });
}
