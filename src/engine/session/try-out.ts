/** One question to the model outside training: describe regions, segment phrases, or any question, with chosen weights. */
import { chosenFrames, type FrameView, PUBLISHED_FRAMES } from "../data/film-strip.ts";
import { decodeRle, encodeRle, type Rle } from "../data/mask/rle.ts";
import type { RgbImage } from "../data/sample.ts";
import { badInput, LabError } from "../errors.ts";
import { trimPool } from "../gpu/runtime/pool.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { StartAdapter } from "../model/adapter/start-adapter.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { FoundMask } from "../model/sam2/postprocess.ts";
import type { ParameterSet } from "../model/weights/weights.ts";
import { type Weights, weightsView } from "../model/weights/weights.ts";
import { freeDecodeBuffers } from "../policy/decode/decode-gpu.ts";
import {
  createFeatureCache,
  disposeFeatures,
  type FeatureCache,
  shownFeatures,
  type TowerPart,
} from "../policy/features.ts";
import { answerFreely, questionPrompt } from "../policy/free-answer.ts";
import { describePictures, findInPictures } from "../policy/partner.ts";
import { countCells, regionCells } from "../policy/prompts.ts";
import type { TrainingState } from "../rl/optim/training-state.ts";
import { readTrained } from "../runs/checkpoint/trained.ts";
import { openRun } from "../runs/run-folder.ts";
import type { RunStore } from "../storage/store.ts";

/** Weights: the published model, the opened adapter, or policy and partner of a run. */
export type TryWeights =
  | { readonly from: "base" }
  | { readonly from: "adapter" }
  | { readonly from: "run"; readonly runId: string; readonly side: "policy" | "ema" };

export type TryTask =
  /** One mask per region, of the picture's size. */
  | { readonly kind: "describe"; readonly regions: readonly Rle[]; readonly maxNewTokens: number }
  | { readonly kind: "segment"; readonly phrases: readonly string[] }
  /** A free answer; the marked regions are named region1, region2 and so on in the question. */
  | {
      readonly kind: "ask";
      readonly question: string;
      readonly regions: readonly Rle[];
      readonly maxNewTokens: number;
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

export interface TryContext {
  readonly model: Sa2vaModel;
  /** Hash of the loaded model's weights; a run of another model is refused. */
  readonly hash: string;
  readonly adapter: StartAdapter | undefined;
  /** The paused run, if any, with its current weights. */
  readonly live:
    | {
        readonly runId: string;
        readonly state: TrainingState;
        /** Tensors of the other checkpoint that computes its likelihoods. */
        readonly captioner: ParameterSet | undefined;
      }
    | undefined;
  readonly store: RunStore;
  readonly features: FeatureCache;
  /** @param part the part of the picture that is encoded now */
  readonly onPhase: (phase: TryPhase, part?: TowerPart) => void;
  readonly signal: AbortSignal;
}

/** Context of any request outside training. */
export interface Outside extends Omit<TryContext, "features" | "onPhase"> {
  /** Changes whenever weights may have changed. */
  readonly weightChanges: number;
}

/** Host bytes of frozen features cached between try-outs, for repeated requests about a picture. */
const FEATURE_BYTES = 256 * 2 ** 20;

/** Features of try-out pictures in host memory, least recently used dropped first. */
export function tryFeatures(model: Sa2vaModel, maxTiles = model.tiling.maxTiles): FeatureCache {
  const { regionPrompt } = model.config;
  return createFeatureCache(model, maxTiles, FEATURE_BYTES, "f32", undefined, undefined, { regionPrompt });
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
        const { maxNewTokens } = task;
        const shown = await shownFeatures(features, pixels);
        const about = { features: shown.all[0] ?? features, regions, height, width };
        const { text, found, ended } = await answerFreely(model, weights, prompt, about, {
          maxNewTokens,
          signal,
        }).finally(() => shown.dispose());
        return { kind: "ask", text, ended, masks: found.map((one) => ({ ...tryMask(one, rgb), phrase: one.phrase })) };
      }
      const masks = task.regions.map((region) => regionMask(region, rgb));
      const { maxNewTokens } = task;
      const options = { maxNewTokens, logitGuard: LOGIT_GUARD, keepTiny: true, signal };
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

interface OwnedWeights {
  readonly weights: Weights;
  dispose(): void;
}

/**
 * The requested weights and the tensors uploaded for them.
 * @throws LabError if they are not available
 */
export async function weightsOf(context: Omit<Outside, "weightChanges">, from: TryWeights): Promise<OwnedWeights> {
  const { model, adapter, live, store } = context;
  if (from.from === "base") return owned(model, new Map(), 0);
  if (from.from === "adapter") {
    if (adapter === undefined) throw badInput("No adapter is open; open one first");
    const tensors = [...adapter.tensors].map(
      ([name, { shape, values }]) => [name, tf.tensor(values, [...shape])] as const,
    );
    return owned(model, new Map(tensors), adapter.scale);
  }
  if (live !== undefined && live.runId === from.runId) {
    const { state } = live;
    const set = from.side === "policy" ? state.params : state.ema;
    // The clones share the buffers and keep them alive if the run continues meanwhile.
    return owned(model, new Map(Object.entries(set).map(([name, tensor]) => [name, tensor.clone()])), state.loraScale);
  }
  const manifest = (await openRun(store, from.runId)).manifest();
  if (manifest.model.hash !== context.hash) {
    throw badInput(
      `Run "${manifest.title}" was trained on ${manifest.model.name}, but another model is loaded`,
      from.runId,
    );
  }
  const { tensors, lora } = await readTrained(store, from.runId, null, from.side);
  const set = [...tensors].map(([name, { shape, data }]) => [name, tf.tensor(data, [...shape])] as const);
  return owned(model, new Map(set), lora === null ? 0 : lora.alpha / lora.r);
}

/** The published tensors with those of `set` taking precedence; the result owns the set. */
function owned(model: Sa2vaModel, set: ReadonlyMap<string, Tensor>, scale: number): OwnedWeights {
  const trainable = Object.fromEntries([...model.base, ...set]);
  return {
    weights: weightsView(model.frozen, trainable, scale),
    dispose: () => tf.dispose([...set.values()]),
  };
}
