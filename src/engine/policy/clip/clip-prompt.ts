/** Clips in front of the language model: frames as visual tokens, [SEG] states and captions. */
import type { RgbImage } from "../../data/sample.ts";
import { LabError } from "../../errors.ts";
import { placedRows } from "../../gpu/kernels/placed-rows.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { resizeBicubic } from "../../model/preprocess/pillow-bicubic.ts";
import { normalisePixels } from "../../model/preprocess/pixels.ts";
import { projectVisual } from "../../model/projector.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import { pixelShuffle, visionTower } from "../../model/vision.ts";
import { type Weights, weightsView } from "../../model/weights/weights.ts";
import {
  buildClipPrompt,
  CLIP_CAPTION_WORDING,
  CLIP_QUESTION_WORDING,
  CLIP_WORDING,
  type ClipPromptText,
} from "../../text/clip-prompt.ts";
import { encodeAnswer, SEG_ANSWER } from "../../text/prompt.ts";
import { embedIds } from "../embedding.ts";
import { type AnswerOptions, type EmbeddedPrompt, greedyAnswer, segPrompts } from "../greedy-answer.ts";
import { countCells, type RegionCells } from "../prompts.ts";

/** A prompt with the frames it is about. */
export interface ClipPrompt extends ClipPromptText {
  /** Cells of the marked region on each frame; empty without a region. */
  readonly cells: readonly RegionCells[];
}

/** "Segment …" as the published evaluation asks. @param frames of the prompt */
export function segmentClipPrompt(model: Sa2vaModel, expression: string, frames: number): ClipPrompt {
  const text = expression.includes("?") ? CLIP_QUESTION_WORDING : CLIP_WORDING;
  return { ...buildClipPrompt(model.tokenizer, model.config, { text, phrase: expression, frames }), cells: [] };
}

/**
 * "Describe region 1" with the region marked on every frame on which it keeps a cell. No published weights were trained
 * for that.
 * @param cells of each frame
 * @throws LabError("bad-input") when it keeps none
 */
export function captionClipPrompt(model: Sa2vaModel, cells: readonly RegionCells[]): ClipPrompt {
  const regionTokenCounts = cells.map(countCells);
  if (regionTokenCounts.every((count) => count === 0)) {
    throw new LabError("bad-input", "The region covers no visual token of any frame, so it cannot be described", {
      subject: "region",
    });
  }
  const request = { text: CLIP_CAPTION_WORDING, frames: cells.length, regionTokenCounts };
  return { ...buildClipPrompt(model.tokenizer, model.config, request), cells };
}

/** Visual tokens of frames before the projector, one tile each, [n, tokens, 4H]; owned by the caller or its tidy. */
export function clipVision(model: Sa2vaModel, frames: readonly RgbImage[]): Tensor {
  const weights = weightsView(model.frozen, {}, 0);
  const side = model.config.tileSize;
  return tf.tidy(() =>
    tf.concat(
      frames.map((rgb) => {
        const pixels = tf.tensor4d(normalisePixels(resizeBicubic(rgb, side, side).data), [1, side, side, 3]);
        return pixelShuffle(model.config, visionTower(weights, model.config.vision, pixels));
      }),
    ),
  );
}

/** Embeddings of a prompt, or of one with an answer behind it, [1, T, D]; differentiable in the projector. */
export function embedClip(
  model: Sa2vaModel,
  weights: Weights,
  prompt: ClipPrompt,
  ids: readonly number[],
  vision: Tensor,
): Tensor {
  return tf.tidy(() => {
    const text = embedIds(model, weights, [ids]);
    const [, length, width] = text.shape as [number, number, number];
    const visual = projectVisual(weights, vision).reshape([-1, width]);
    const { tokensPerTile } = model.config;
    const order = Array.from({ length }, (_, at) => at);
    prompt.frameSpans.forEach(({ start }, frame) => {
      const first = length + frame * tokensPerTile;
      for (let token = 0; token < tokensPerTile; token++) order[start + token] = first + token;
      const places = prompt.regionSpans[frame];
      if (places === undefined) return;
      const chosen = Array.from((prompt.cells[frame] as RegionCells).keys()).filter(
        (at) => prompt.cells[frame]?.[at] !== 0,
      );
      chosen.forEach((token, at) => {
        order[places.start + at] = first + token;
      });
    });
    return placedRows(text.reshape([length, width]), visual, order).reshape([1, length, width]);
  });
}

export interface ClipAnswer {
  /** Special tokens kept, without the stop word. */
  readonly text: string;
  /** One prompt of the mask decoder a [SEG], [n, C]; owned by the caller. Undefined when the answer has none. */
  readonly lang: Tensor | undefined;
}

/** The answer "Sure, [SEG]." put into the model's mouth. */
export function forcedClipAnswer(model: Sa2vaModel, weights: Weights, prompt: ClipPrompt, vision: Tensor): ClipAnswer {
  const { ids, segPositions } = encodeAnswer(model.tokenizer, model.config.template, SEG_ANSWER);
  const embedded = embeddedClip(model, weights, prompt, vision);
  return { text: SEG_ANSWER, lang: segPrompts(model, weights, embedded, ids, segPositions) };
}

/**
 * The greedy answer.
 * @throws LabError("cancelled") when the signal fires, LabError("bad-input") when the model's numbers are not finite
 */
export async function freeClipAnswer(
  model: Sa2vaModel,
  weights: Weights,
  prompt: ClipPrompt,
  vision: Tensor,
  options: AnswerOptions,
): Promise<ClipAnswer> {
  const embedded = embeddedClip(model, weights, prompt, vision);
  const { ids, text, places } = await greedyAnswer(model, weights, embedded, options);
  return { text, lang: places.length === 0 ? undefined : segPrompts(model, weights, embedded, ids, places) };
}

function embeddedClip(model: Sa2vaModel, weights: Weights, prompt: ClipPrompt, vision: Tensor): EmbeddedPrompt {
  return { ids: prompt.ids, embed: (ids) => embedClip(model, weights, prompt, ids, vision) };
}
