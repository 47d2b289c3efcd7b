/** Clips in front of the language model: frames as visual tokens, [SEG] states and captions. */
import type { RgbImage } from "../../data/sample.ts";
import { LabError } from "../../errors.ts";
import { placedRows } from "../../gpu/kernels/placed-rows.ts";
import { STREAM } from "../../gpu/random.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { languageForward } from "../../model/language/language.ts";
import { resizeBicubic } from "../../model/preprocess/pillow-bicubic.ts";
import { normalisePixels } from "../../model/preprocess/pixels.ts";
import { projectVisual } from "../../model/projector.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import { languagePrompt } from "../../model/seg-prompt.ts";
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
import { prediction } from "../../text/template.ts";
import { generate } from "../decode/generate.ts";
import { FULL_SAMPLING } from "../decode/sampler.ts";
import { embedIds } from "../embedding.ts";
import { answerRule, countCells, type RegionCells } from "../prompts.ts";

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
  return { text: SEG_ANSWER, lang: segStates(model, weights, prompt, vision, ids, segPositions) };
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
  { maxNewTokens, signal }: { readonly maxNewTokens: number; readonly signal: AbortSignal },
): Promise<ClipAnswer> {
  const rule = answerRule(model);
  const [prefix, tails] = tf.tidy(() => {
    const whole = embedClip(model, weights, prompt, prompt.ids, vision);
    const [, length, width] = whole.shape as [number, number, number];
    return [tf.slice(whole, [0, 0, 0], [1, length - 1, width]), tf.slice(whole, [0, length - 1, 0], [1, 1, width])];
  }) as [Tensor, Tensor];
  const [answered] = await generate(model, weights, [{ prefix, tails, tailLengths: [1], promptIds: prompt.ids }], {
    maxNewTokens,
    sampler: { ...FULL_SAMPLING, guard: Number.POSITIVE_INFINITY },
    greedy: true,
    key: () => ({ seed: 0, step: 0, loop: 0, row: 0, rollout: 0, position: 0, stream: STREAM.token }),
    stop: (ids) => rule.reached(ids),
    signal,
  }).finally(() => tf.dispose([prefix, tails]));
  if (answered === undefined || answered.nonFinite > 0) {
    throw new LabError("bad-input", "The model's logits are not finite, so it has no answer; look at its weights");
  }
  const ids = answered.completions[0]?.ids ?? [];
  // The state is that of the step that reads [SEG]; one at the end was never read.
  const places = ids.flatMap((id, at) => (id === model.tokenizer.special.seg && at < ids.length - 1 ? [at] : []));
  const said = prediction(model.tokenizer, ids);
  const stop = rule.words.find((word) => said.endsWith(word)) ?? "";
  return {
    text: said.slice(0, said.length - stop.length).trim(),
    lang: places.length === 0 ? undefined : segStates(model, weights, prompt, vision, ids, places),
  };
}

function segStates(
  model: Sa2vaModel,
  weights: Weights,
  prompt: ClipPrompt,
  vision: Tensor,
  answer: readonly number[],
  places: readonly number[],
): Tensor {
  return tf.tidy(() => {
    const ids = [...prompt.ids, ...answer.slice(0, (places.at(-1) as number) + 1)];
    const { hidden } = languageForward(weights, model.config.language, embedClip(model, weights, prompt, ids, vision));
    const rows = tf.tensor1d(
      places.map((at) => prompt.ids.length + at),
      "int32",
    );
    return languagePrompt(weights, tf.gather(hidden.reshape([ids.length, -1]), rows));
  });
}
