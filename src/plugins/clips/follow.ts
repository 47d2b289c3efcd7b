/** Follows objects through a clip: those named by expressions, one per [SEG] of an answer, or those of given masks. */

import { chosenFrames, type FrameChoice } from "../../engine/data/film-strip.ts";
import { encodeRle, type Rle } from "../../engine/data/mask/rle.ts";
import type { RgbImage } from "../../engine/data/sample.ts";
import { LabError } from "../../engine/errors.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { visionFamily } from "../../engine/model/families/registry.ts";
import { promptPlaces } from "../../engine/model/language/config-language.ts";
import type { Sa2vaModel } from "../../engine/model/sa2va.ts";
import type { Weights } from "../../engine/model/weights/weights.ts";
import { embedPrompt, projectVision } from "../../engine/policy/embedding.ts";
import { type TowerCalls, tileTokens } from "../../engine/policy/features.ts";
import { buildClipPrompt, CLIP_QUESTION_WORDING, CLIP_WORDING } from "../../engine/text/clip-prompt.ts";
import { encodeAnswer, type Prompt, SEG_ANSWER } from "../../engine/text/prompt.ts";
import { type AnswerOptions, type EmbeddedPrompt, greedyAnswer, segPrompts } from "../try-out/free-answer.ts";
import { type ClipDecoder, type ClipPictures, type FrameResult, masklets } from "./masklets.ts";
import type { ClipPrompt, StoredTracking } from "./sam2/clip.ts";
import type { GivenMask } from "./sam2/mask-prompt.ts";

// The language model on clips: frames as visual tokens, answers, and their [SEG] states.

/**
 * "Segment …" in the wording of the published evaluation.
 * @param frames number of frames in the prompt
 * @param size of a frame
 */
export function segmentClipPrompt(
  model: Sa2vaModel,
  expression: string,
  frames: number,
  { height, width }: { readonly height: number; readonly width: number },
): Prompt {
  const grid = visionFamily(model.config).grid(model.config, height, width);
  const text = expression.includes("?") ? CLIP_QUESTION_WORDING : CLIP_WORDING;
  return buildClipPrompt(model.tokenizer, model.config, { text, phrase: expression, frames, grid });
}

/**
 * Visual tokens of frames before the projector, one tile each, [n · planes, tokens, C]; owned by the caller.
 * @throws LabError("cancelled") when the signal is aborted
 */
export function clipVision(model: Sa2vaModel, frames: readonly RgbImage[], calls: TowerCalls = {}): Promise<Tensor> {
  const tiles = frames.flatMap((rgb) => visionFamily(model.config).cutFrame(model.config, rgb).tiles);
  return tileTokens(model, tiles, calls);
}

interface ClipAnswer {
  /** Special tokens kept, without the stop word. */
  readonly text: string;
  /** One prompt of the mask decoder per [SEG], [n, C]; owned by the caller. Undefined if the answer has no [SEG]. */
  readonly lang: Tensor | undefined;
}

/** The forced answer "Sure, [SEG]." */
function forcedClipAnswer(model: Sa2vaModel, weights: Weights, prompt: Prompt, vision: Tensor): ClipAnswer {
  const { ids, segPositions } = encodeAnswer(model.tokenizer, model.config.template, SEG_ANSWER);
  const embedded = embeddedClip(model, weights, prompt, vision);
  return { text: SEG_ANSWER, lang: segPrompts(model, weights, embedded, ids, segPositions) };
}

/**
 * The greedy answer.
 * @throws LabError("cancelled") when the signal is aborted, LabError("bad-input") when the model's numbers are not
 * finite
 */
async function freeClipAnswer(
  model: Sa2vaModel,
  weights: Weights,
  prompt: Prompt,
  vision: Tensor,
  options: AnswerOptions,
): Promise<ClipAnswer> {
  const embedded = embeddedClip(model, weights, prompt, vision);
  const { ids, text, places } = await greedyAnswer(model, weights, embedded, options);
  return { text, lang: places.length === 0 ? undefined : segPrompts(model, weights, embedded, ids, places) };
}

function embeddedClip(model: Sa2vaModel, weights: Weights, prompt: Prompt, vision: Tensor): EmbeddedPrompt {
  return {
    ids: prompt.ids,
    places: (length) => promptPlaces(model.config.language, prompt, length),
    embed: (ids) => tf.tidy(() => embedPrompt(model, weights, prompt, ids, projectVision(model, weights, vision), [])),
  };
}

/** "first", "uniform" or "every:K" as a choice; undefined for anything else. */
export function parseFrameChoice(text: string, count: number): FrameChoice | undefined {
  if (text === "first" || text === "uniform") return { kind: text, count };
  const step = Number(/^every:(\d+)$/.exec(text)?.[1] ?? 0);
  return step >= 1 ? { kind: "every", count, step } : undefined;
}

export interface FollowSettings {
  /** Frames given to the language model. */
  readonly choice: FrameChoice;
  readonly decoder: ClipDecoder;
  readonly answers: "free" | "forced";
  /** Maximum length of a free answer. */
  readonly maxCompletionLength: number;
}

/** Finished frames, in processing order. */
export interface KeptFrames {
  readonly state: StoredTracking;
  /** Masks of all objects by frame. */
  readonly masks: ReadonlyMap<number, readonly Rle[]>;
}

export interface FollowKeeper {
  /** Number of frames between two calls of `keep`, which is also called when the signal is aborted. */
  readonly every: number;
  /**
   * Kept frames of the same request, if any.
   * @param of the request's prompt and settings as text
   */
  find(of: string): Promise<KeptFrames | undefined>;
  keep(of: string, kept: KeptFrames): Promise<void>;
  /**
   * Called after every frame.
   * @param done number of frames finished so far
   */
  seen?(step: FrameResult, done: number): void;
}

/** A request to follow objects. */
export interface FollowJob {
  readonly model: Sa2vaModel;
  readonly weights: Weights;
  readonly pictures: ClipPictures;
  readonly signal: AbortSignal;
  readonly keeper?: FollowKeeper | undefined;
  /** Called before the first frame is followed. */
  readonly onAnswers?: ((answers: Pick<Followed, "answers" | "expressions">) => void) | undefined;
}

export interface Followed {
  /** The language model's answer to each expression. */
  readonly answers: readonly string[];
  /** Frames given to the language model, or frames with a given mask. */
  readonly frames: readonly number[];
  /** One masklet per [SEG] or given mask, [object][frame]. */
  readonly masklets: readonly (readonly Rle[])[];
  /** Index of the expression of each masklet; empty where masks were given. */
  readonly expressions: readonly number[];
}

/**
 * Follows the objects named by expressions; all share the features of a frame.
 * @throws LabError("cancelled") when the signal is aborted, LabError("bad-input") for an unusable frame; kept frames
 * stay
 */
export async function followExpressions(
  job: FollowJob,
  expressions: readonly string[],
  settings: FollowSettings,
): Promise<Followed> {
  const { model, weights, pictures, signal } = job;
  const { decoder } = settings;
  const frames = chosenFrames(pictures.total, settings.choice);
  const seen = [];
  for (const frame of frames) seen.push(await pictures.picture(frame));
  const vision = await clipVision(model, seen, { signal });
  const answered: ClipAnswer[] = [];
  try {
    for (const expression of expressions) {
      const prompt = segmentClipPrompt(model, expression, frames.length, pictures);
      answered.push(
        settings.answers === "forced"
          ? forcedClipAnswer(model, weights, prompt, vision)
          : await freeClipAnswer(model, weights, prompt, vision, { ...settings, signal }),
      );
    }
  } catch (thrown) {
    tf.dispose(answered.map(({ lang }) => lang));
    throw thrown;
  } finally {
    vision.dispose();
  }
  const answers = answered.map(({ text }) => text);
  const owners = answered.flatMap(({ lang }, at) => Array.from({ length: lang?.shape[0] ?? 0 }, () => at));
  job.onAnswers?.({ answers, expressions: owners });
  const found = answered.flatMap(({ lang }) => lang ?? []);
  if (found.length === 0) return { answers, frames, masklets: [], expressions: [] };
  const lang = tf.concat(found);
  tf.dispose(found);
  try {
    const of = JSON.stringify([expressions, answers, frames, decoder]);
    const followed = await track(job, { kind: "language", frames, lang }, decoder, of);
    return { answers, frames, masklets: followed, expressions: owners };
  } finally {
    lang.dispose();
  }
}

/**
 * Follows the objects of given masks with SAM2's tracker, as its video predictor does; the language model is not used.
 * @param masks masks of each frame that has some, one per object
 * @throws LabError as `followExpressions`
 */
export async function followMasks(job: FollowJob, masks: ReadonlyMap<number, readonly GivenMask[]>): Promise<Followed> {
  const texts = (own: readonly GivenMask[]) =>
    own.map(({ data, height, width }) => encodeRle(data, height, width).counts);
  const of = JSON.stringify([...masks].map(([frame, own]) => [frame, texts(own)]));
  const masklets = await track(job, { kind: "masks", masks }, "consistent", of);
  return { answers: [], frames: [...masks.keys()].sort((a, b) => a - b), masklets, expressions: [] };
}

/** Masks of all frames, [object][frame]; an interrupted clip continues from the kept frames. */
async function track(
  { model, weights, pictures, signal, keeper }: FollowJob,
  prompt: ClipPrompt,
  decoder: ClipDecoder,
  of: string,
): Promise<Rle[][]> {
  const { total } = pictures;
  const kept = await keeper?.find(of);
  const masks = new Map(kept?.masks ?? []);
  let done = kept?.state.done ?? 0;
  for await (const step of masklets(model, weights, pictures, prompt, { decoder, signal, resume: kept?.state })) {
    masks.set(step.frame, step.masks);
    done++;
    keeper?.seen?.(step, done);
    if (done === total) break;
    const { aborted } = signal;
    if (keeper !== undefined && (aborted || done % keeper.every === 0)) {
      await keeper.keep(of, { state: await step.save(), masks });
    }
    if (aborted) {
      throw new LabError("cancelled", `Following was stopped after frame ${step.frame}; finished frames are kept`);
    }
  }
  const [first = []] = masks.values();
  return first.map((_, object) =>
    Array.from({ length: total }, (_, frame) => (masks.get(frame) as readonly Rle[])[object] as Rle),
  );
}
