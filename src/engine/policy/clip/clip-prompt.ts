/** The language model on clips: frames as visual tokens, answers, and their [SEG] states. */
import type { RgbImage } from "../../data/sample.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { visionFamily } from "../../model/families/registry.ts";
import { promptPlaces } from "../../model/language/places.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import type { Weights } from "../../model/weights/weights.ts";
import { buildClipPrompt, CLIP_QUESTION_WORDING, CLIP_WORDING } from "../../text/clip-prompt.ts";
import { encodeAnswer, type Prompt, SEG_ANSWER } from "../../text/prompt.ts";
import { embedPrompt, projectVision } from "../embedding.ts";
import { type TowerCalls, tileTokens } from "../features.ts";
import { type AnswerOptions, type EmbeddedPrompt, greedyAnswer, segPrompts } from "../greedy-answer.ts";

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

export interface ClipAnswer {
  /** Special tokens kept, without the stop word. */
  readonly text: string;
  /** One prompt of the mask decoder per [SEG], [n, C]; owned by the caller. Undefined if the answer has no [SEG]. */
  readonly lang: Tensor | undefined;
}

/** The forced answer "Sure, [SEG]." */
export function forcedClipAnswer(model: Sa2vaModel, weights: Weights, prompt: Prompt, vision: Tensor): ClipAnswer {
  const { ids, segPositions } = encodeAnswer(model.tokenizer, model.config.template, SEG_ANSWER);
  const embedded = embeddedClip(model, weights, prompt, vision);
  return { text: SEG_ANSWER, lang: segPrompts(model, weights, embedded, ids, segPositions) };
}

/**
 * The greedy answer.
 * @throws LabError("cancelled") when the signal is aborted, LabError("bad-input") when the model's numbers are not
 * finite
 */
export async function freeClipAnswer(
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
