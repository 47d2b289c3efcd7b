/** One question to the model outside training: describe regions, segment phrases, or any question, with chosen weights. */
import type { FrameView } from "../../engine/data/film-strip.ts";
import { chosenFrames } from "../../engine/data/film-strip.ts";
import { decodeRle, encodeRle, type Rle } from "../../engine/data/mask/rle.ts";
import type { RgbImage } from "../../engine/data/sample.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import { trimPool } from "../../engine/gpu/runtime/pool.ts";
import type { FoundMask } from "../../engine/model/sam2/postprocess.ts";
import { freeDecodeBuffers } from "../../engine/policy/decode/decode-gpu.ts";
import { disposeFeatures, type FeatureCache, shownFeatures, type TowerPart } from "../../engine/policy/features.ts";
import { describePictures, findInPictures } from "../../engine/policy/partner.ts";
import { countCells, questionPrompt, regionCells } from "../../engine/policy/prompts.ts";
import type { Outside, Session } from "../../engine/session/session.ts";
import { answerFreely } from "./free-answer.ts";
import { type TryWeights, type WeightSource, weightsOf } from "./weights.ts";

export type TryTask =
  /** One mask per region, of the picture's size. */
  | { readonly kind: "describe"; readonly regions: readonly Rle[]; readonly maxCompletionLength: number }
  | { readonly kind: "segment"; readonly phrases: readonly string[] }
  /** A free answer; the marked regions are named region1, region2 and so on in the question. */
  | {
      readonly kind: "ask";
      readonly question: string;
      readonly regions: readonly Rle[];
      readonly maxCompletionLength: number;
    };

/** A mask of the picture's size. */
interface TryMask {
  readonly mask: Rle;
  /** Mean probability inside; null for an empty mask. */
  readonly confidence: number | null;
}

export type TryAnswer =
  /** Null for a region that covers no visual token. */
  | { readonly kind: "describe"; readonly captions: readonly (string | null)[] }
  /** Null for an empty phrase. */
  | {
      readonly kind: "segment";
      readonly masks: readonly (TryMask | null)[];
    }
  | {
      readonly kind: "ask";
      /** Special tokens kept, without the stop word. */
      readonly text: string;
      /** One per [SEG] of the text, in order, with the text before it. */
      readonly masks: readonly (TryMask & { readonly phrase: string })[];
      /** False when the length limit cut it off. */
      readonly ended: boolean;
    };

export type TryPhase = "weights" | "features" | "answer";

export interface TryContext extends WeightSource {
  readonly features: FeatureCache;
  /** @param part the part of the picture that is encoded now */
  readonly onPhase: (phase: TryPhase, part?: TowerPart) => void;
  readonly signal: AbortSignal;
}

/** Guard of the logits, as in evaluation. */
const LOGIT_GUARD = 30;

/** The picture of a request. */
export interface AskedPicture {
  /** Key in the feature cache. */
  readonly id: string;
  readonly rgb: RgbImage;
  /** Frames of a clip, below each other. */
  readonly frames?: number | undefined;
}

/** Evenly spread frames for the model; a free question uses the whole strip as one picture. */
function viewOf({ frames: total }: AskedPicture, task: TryTask): FrameView | undefined {
  if (total === undefined || task.kind === "ask") return undefined;
  return { total, frames: chosenFrames(total, { kind: "uniform", count: PUBLISHED_FRAMES }) };
}

/**
 * @throws LabError("cancelled") when the signal aborts, "bad-input" naming the problem
 */
export async function tryOut(
  context: TryContext,
  picture: AskedPicture,
  task: TryTask,
  from: TryWeights,
): Promise<TryAnswer> {
  const { model, onPhase, signal } = context;
  onPhase("weights");
  const { weights, dispose } = await weightsOf(context, from);
  try {
    stopIf(signal);
    onPhase("features");
    const { id, rgb } = picture;
    const view = viewOf(picture, task);
    const features = await context.features.get(id, rgb, view, { signal, onPart: (part) => onPhase("features", part) });
    try {
      stopIf(signal);
      onPhase("answer");
      const { height, width } = rgb;
      const own = { features, height, width, view };
      if (task.kind === "segment") {
        const [found = []] = await findInPictures(model, weights, [{ ...own, phrases: task.phrases }], signal);
        stopIf(signal);
        return {
          kind: "segment",
          masks: found.map((one) => (one === null ? null : tryMask(one, rgb))),
        };
      }
      if (task.kind === "ask") {
        const pixels = task.regions.map((region) => regionMask(region, rgb));
        const regions = pixels.map((mask) => regionCells(model, mask, height, width, true, undefined, features.grid));
        const empty = regions.findIndex((cells) => countCells(cells) === 0);
        if (empty >= 0) throw badInput(`Region ${empty + 1} covers no visual token; the model was not run`);
        const prompt = questionPrompt(model, task.question, { features, regions });
        const { maxCompletionLength } = task;
        const shown = await shownFeatures(features, pixels);
        const about = { features: shown.all[0] ?? features, regions, height, width };
        const { text, found, ended } = await answerFreely(model, weights, prompt, about, {
          maxCompletionLength,
          signal,
        }).finally(() => shown.dispose());
        return { kind: "ask", text, ended, masks: found.map((one) => ({ ...tryMask(one, rgb), phrase: one.phrase })) };
      }
      const masks = task.regions.map((region) => regionMask(region, rgb));
      const { maxCompletionLength } = task;
      const options = { maxCompletionLength, logitGuard: LOGIT_GUARD, keepTiny: true, signal };
      const [captions = []] = await describePictures(model, weights, [{ ...own, masks }], options);
      return { kind: "describe", captions };
    } finally {
      disposeFeatures(features);
    }
  } finally {
    dispose();
    // A paused run continues with its own features.
    if (context.live === undefined) freeDecodeBuffers();
    trimPool();
  }
}

function tryMask({ mask, confidence }: FoundMask, { height, width }: RgbImage): TryMask {
  return { mask: encodeRle(mask, height, width), confidence };
}

function regionMask(region: Rle, { height, width }: RgbImage): Uint8Array {
  const [rows, columns] = region.size;
  if (rows === height && columns === width) return decodeRle(region);
  throw badInput(`A region is ${columns} × ${rows}, the picture ${width} × ${height}`);
}

function stopIf(signal: AbortSignal): void {
  if (signal.aborted) throw new LabError("cancelled", "The try-out was stopped");
}

export interface Asked {
  readonly picture: AskedPicture;
  readonly task: TryTask;
  readonly from: TryWeights;
  /** Upper limit of tiles; the model's own without one. */
  readonly maxTiles?: number | undefined;
}

/**
 * Answers one question about a picture; during a run only while it is paused.
 * @throws LabError("cancelled") when the signal aborts or the run continues
 */
export async function askSession(
  session: Session,
  { picture, task, from, maxTiles }: Asked,
  onPhase: TryContext["onPhase"],
  signal: AbortSignal,
): Promise<TryAnswer> {
  return session.askRows(maxTiles, signal, (outside: Outside) => {
    const features = outside.features(maxTiles ?? outside.model.tiling.maxTiles);
    return tryOut({ ...outside, features, onPhase }, picture, task, from);
  });
}

/** Frames of the published recipes. */
export const PUBLISHED_FRAMES = 5;
