/** Output of the weights for one phrase per picture, computed on first use, for several pictures in one batch. */

import type { RandomKey } from "../gpu/random.ts";
import { inPace } from "../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { type DecodedMasks, decodeClicks } from "../model/sam2/mask-decoder.ts";
import type { Weights } from "../model/weights/weights.ts";
import { type CaptionScores, captionBatch, captionScores } from "./caption-policy.ts";
import { type Completion, generate } from "./decode/generate.ts";
import type { SamplerSettings } from "./decode/sampler.ts";
import type { ImageFeatures } from "./features.ts";
import { asStrips, decodeFrames, frameCount } from "./frame-masks.ts";
import { type AskedPicture, phrasePrompts, phrasePromptsOf, promptStates } from "./phrase-prompts.ts";
import { answerRule, segmentPrompt } from "./prompts.ts";

export interface PhraseOutput {
  /** The [SEG] state as a prompt of the mask decoder, [1, C]. */
  readonly language: Tensor;
  /**
   * Masks for the phrase; for a clip, of its strip of frames. The first call decodes and keeps the masks of all
   * pictures; a tidy around that call alone would free them before later calls.
   */
  decoded(): DecodedMasks;
  /** Masks for other prompts [N, C] on the same picture; owned by the caller. */
  decode(language: Tensor): DecodedMasks;
  /**
   * Masks for one click each at points [N, 2], (x, y) in 0..1 of the picture, without the phrase; owned by the caller.
   */
  click(points: Tensor): DecodedMasks;
  /**
   * Prompts of the mask decoder for the picture's other phrases, [K, C], owned by the caller; null if there are none.
   */
  otherPrompts(): Tensor | null;
  /** Sampled answers to the phrase; absent where there is no language model to ask. */
  readonly text?: PhraseText;
}

/** Answers that the policy writes itself, up to [SEG], instead of the forced one. */
export interface PhraseText {
  /** Id of [SEG]. */
  readonly segment: number;
  word(id: number): string;
  words(ids: readonly number[]): string;
  /** Samples answers; one ends at its first [SEG]. @param options.key address of a rollout's draws */
  sample(count: number, options: AnswerOptions & { key(rollout: number): RandomKey }): Promise<readonly Completion[]>;
  /**
   * Log-probabilities and entropies of the answers' tokens [N, T], and the states of their [SEG] as prompts of the mask
   * decoder [N, C]; differentiable. @param places of [SEG] in each answer; below 0, the last token stands for it
   */
  score(
    answers: readonly Completion[],
    places: readonly number[],
    options: AnswerOptions,
  ): CaptionScores & { readonly language: Tensor };
}

interface AnswerOptions {
  readonly sampler: SamplerSettings;
  readonly maxNewTokens: number;
}

/** Outputs that are computed and freed together. */
export interface PhraseOutputs {
  /** One per picture. */
  readonly all: readonly PhraseOutput[];
  /** Frees the outputs; not needed where a tape or a tidy owns them. */
  dispose(): void;
}

export interface PhraseAbout {
  readonly features: ImageFeatures;
  readonly phrase: string;
  /** Other phrases about the picture, for policies that propose their masks. */
  readonly others?: readonly string[];
}

const askedIn = (about: readonly PhraseAbout[]): AskedPicture[] =>
  about.map(({ features, phrase }) => ({ features, phrases: [phrase] }));

/**
 * `phraseOutputs` that waits for the GPU between the layers of the language model; not for a tape.
 * @throws LabError("cancelled") when the signal is aborted
 */
export async function pacedPhraseOutputs(
  model: Sa2vaModel,
  weights: Weights,
  about: readonly PhraseAbout[],
  signal?: AbortSignal,
): Promise<PhraseOutputs> {
  return phraseOutputs(model, weights, about, await inPace(phrasePrompts(model, weights, askedIn(about)), signal));
}

/**
 * Differentiable in every trainable tensor behind `weights`.
 * @param together prompts of the phrases [N, C], which the outputs own; computed if absent
 */
export function phraseOutputs(
  model: Sa2vaModel,
  weights: Weights,
  about: readonly PhraseAbout[],
  together = phrasePromptsOf(model, weights, askedIn(about)),
): PhraseOutputs {
  const decode = (features: ImageFeatures, prompts: Tensor): DecodedMasks =>
    tf.tidy(() => ({ ...asStrips(decodeFrames(model, weights, [features], prompts), frameCount(features)) }));
  const languages = about.length === 1 ? [together] : about.map((_, at) => rowsOf(together, at, 1));
  let kept: DecodedMasks[] | undefined;
  const decodeAll = (): DecodedMasks[] => {
    const [first] = about;
    if (first !== undefined && about.length === 1) return [decode(first.features, together)];
    const all = about.map(({ features }) => features);
    const whole = decodeFrames(model, weights, all, together);
    let from = 0;
    const parts = all.map((features): DecodedMasks => {
      const frames = frameCount(features);
      from += frames;
      const cut = (x: Tensor): Tensor => rowsOf(x, from - frames, frames);
      return tf.tidy(() => {
        const { masks, iou, objectScore } = whole;
        return { ...asStrips({ masks: cut(masks), iou: cut(iou), objectScore: cut(objectScore) }, frames) };
      });
    });
    tf.dispose({ ...whole });
    return parts;
  };
  return {
    all: about.map(({ features, others = [] }, at) => ({
      language: languages[at] as Tensor,
      decode: (prompts) => decode(features, prompts),
      click: (points) =>
        tf.tidy(() => {
          const frames = frameCount(features);
          const all = frames === 1 ? points : tf.tile(points, [frames, 1]);
          return { ...asStrips(decodeClicks(weights, model.config.sam2, features.sam, all), frames) };
        }),
      otherPrompts: () =>
        others.length === 0 ? null : phrasePromptsOf(model, weights, [{ features, phrases: others }]),
      get text() {
        return phraseText(model, weights, about[at] as PhraseAbout);
      },
      decoded() {
        kept ??= decodeAll();
        return kept[at] as DecodedMasks;
      },
    })),
    dispose() {
      tf.dispose([together, ...languages, ...(kept ?? []).flatMap((own) => Object.values(own) as Tensor[])]);
    },
  };
}

function phraseText(model: Sa2vaModel, weights: Weights, { features: all, phrase }: PhraseAbout): PhraseText {
  const { tokenizer } = model;
  const segment = tokenizer.special.seg;
  // The question marks no region.
  const { shown: _shown, ...features } = all;
  const prompt = segmentPrompt(model, features, phrase);
  return {
    segment,
    word: (id) => tokenizer.decode([id], { keepSpecial: true }),
    words: (ids) => tokenizer.decode([...ids], { keepSpecial: true }),
    async sample(count, { sampler, maxNewTokens, key }) {
      const batch = captionBatch(model, weights, features, prompt, count);
      const rule = answerRule(model);
      const options = { sampler, maxNewTokens, greedy: false, oneLength: true };
      const [generated] = await generate(model, weights, [batch], {
        ...options,
        key: (_, rollout) => key(rollout),
        stop: (ids) => ids.at(-1) === segment || rule.reached(ids),
      }).finally(() => tf.dispose([batch.prefix, batch.tails]));
      return generated?.completions ?? [];
    },
    score(answers, places, { sampler, maxNewTokens }) {
      const group = { features, prompt, completions: answers };
      const scores = captionScores(model, weights, [group], sampler, maxNewTokens)[0] as CaptionScores;
      const upTo = answers.map(({ ids }, n) => {
        const place = places[n] as number;
        return { ...prompt, forcedIds: [...prompt.ids, ...ids.slice(0, place < 0 ? ids.length : place + 1)] };
      });
      return { ...scores, language: promptStates(model, weights, features, upTo) };
    },
  };
}

/** Rows [from, from + count) of [B, …]. */
function rowsOf(x: Tensor, from: number, count: number): Tensor {
  const [, ...rest] = x.shape;
  return tf.slice(x, [from, ...rest.map(() => 0)], [count, ...rest]);
}
