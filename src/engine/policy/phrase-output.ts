/** Output of the weights for one phrase per picture, computed on first use, for several pictures in one batch. */

import type { RandomKey } from "../gpu/random.ts";
import { atOnce, gpuFinished, inPace, type Paced, tidied } from "../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { promptPlaces } from "../model/language/config-language.ts";
import { languagePass } from "../model/language/language.ts";
import { rotatedAlike } from "../model/language/rope-scaling.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { SamFeatures } from "../model/sam2/hiera.ts";
import { type DecodedMasks, decodeClicks, decodeMasks } from "../model/sam2/mask-decoder.ts";
import { languagePrompt } from "../model/seg-prompt.ts";
import type { Weights } from "../model/weights/weights.ts";
import { type CaptionLogps, captionBatch, captionLogps } from "./caption-policy.ts";
import { type Completion, generate } from "./decode/generate.ts";
import { batchesOf, padded, placesOf, prefixPositions, statesBehind } from "./decode/prefill.ts";
import type { SamplerSettings } from "./decode/sampler.ts";
import { embedIds, embedPrompt, projectImages, sharedLength } from "./embedding.ts";
import type { ImageFeatures } from "./features.ts";
import { answerRule, type SegmentPrompt, segmentPrompt } from "./prompts.ts";

// Masks of prompts about pictures and clips. The frames of a clip are decoded separately with one prompt, as in the
// published training.

/** Number of frames of a picture or clip. */
export function frameCount({ frames = 1 }: Pick<ImageFeatures, "frames">): number {
  return frames;
}

/**
 * Masks of N prompts per picture or clip, picture after picture, frame after frame; differentiable.
 * @param language [pictures · N, C]
 * @returns [Σ frames · N, …], owned by the caller or its tidy
 */
export function decodeFrames(
  model: Sa2vaModel,
  weights: Weights,
  pictures: readonly ImageFeatures[],
  language: Tensor,
): DecodedMasks {
  const [masks, iou, objectScore] = tf.tidy(() => {
    const each = (language.shape[0] as number) / pictures.length;
    const rows = pictures.flatMap((picture, at) =>
      Array.from({ length: frameCount(picture) * each }, (_, row) => at * each + (row % each)),
    );
    const prompts = rows.length === language.shape[0] ? language : tf.gather(language, tf.tensor1d(rows, "int32"));
    const decoded = decodeMasks(weights, model.config.sam2, samTogether(pictures), prompts);
    return [decoded.masks, decoded.iou, decoded.objectScore];
  }) as [Tensor, Tensor, Tensor];
  return { masks, iou, objectScore };
}

/**
 * Turns a clip's rows from `decodeFrames` into masks of its strip, with scores averaged over the frames, so that one
 * choice of candidate holds for all frames. A picture is unchanged.
 * @returns [N, …] with masks [N, 4, frames · h, w], owned by the caller or its tidy
 */
export function asStrips({ masks, iou, objectScore }: DecodedMasks, frames: number): DecodedMasks {
  if (frames === 1) return { masks, iou, objectScore };
  const [strips, scores, found] = tf.tidy(() => {
    const [rows, tokens, height, width] = masks.shape as [number, number, number, number];
    const count = rows / frames;
    const mean = (values: Tensor): Tensor => values.reshape([frames, count, -1]).mean(0);
    const turned = tf.transpose(masks.reshape([frames, count * tokens, height * width]), [1, 0, 2]);
    return [turned.reshape([count, tokens, frames * height, width]), mean(iou), mean(objectScore)];
  }) as [Tensor, Tensor, Tensor];
  return { masks: strips, iou: scores, objectScore: found };
}

/** Concatenates SAM2's maps of several pictures; those of a single one are returned without a copy. */
function samTogether(pictures: readonly ImageFeatures[]): SamFeatures {
  const [first] = pictures;
  if (first !== undefined && pictures.length === 1) return first.sam;
  const joined = (map: keyof SamFeatures): Tensor => tf.concat(pictures.map(({ sam }) => sam[map]));
  return { f16: joined("f16"), f8: joined("f8"), f4: joined("f4") };
}

// Converts phrases about pictures to prompts of the mask decoder.

export interface AskedPicture {
  readonly features: ImageFeatures;
  /** At least one; the same number for all pictures of a call. */
  readonly phrases: readonly string[];
}

/**
 * Prompts of the mask decoder [N, C], picture after picture: the [SEG] states of the phrases through text_hidden_fcs.
 * The texts about a picture share everything up to where the phrases begin, which runs once; the rest is a right-padded
 * batch. Differentiable in every trainable tensor. One part of the recording per layer of the language model.
 */
export function* phrasePrompts(model: Sa2vaModel, weights: Weights, pictures: readonly AskedPicture[]): Paced<Tensor> {
  const prompts = pictures.map(({ features, phrases }) =>
    phrases.map((phrase) => segmentPrompt(model, features, phrase)),
  );
  const { language } = model.config;
  const longest = prompts.map((own) => Math.max(...own.map(({ forcedIds }) => forcedIds.length)));
  const forced = prompts.flat().map(({ forcedIds }) => forcedIds.length);
  const alike = rotatedAlike(language.rope, forced);
  if (alike.length <= 1 && batchesOf(language, longest).length <= 1) {
    const all = pictures.map(({ features }) => features);
    return yield* promptsTogether(model, weights, all, prompts);
  }
  return yield* tidied(function* () {
    const made: Tensor[] = [];
    for (const [at, { features }] of pictures.entries()) {
      made.push(yield* statesApart(model, weights, features, prompts[at] as SegmentPrompt[]));
    }
    return tf.concat(made);
  });
}

/** `phrasePrompts` without a wait, as a tape needs it. */
export function phrasePromptsOf(model: Sa2vaModel, weights: Weights, pictures: readonly AskedPicture[]): Tensor {
  return atOnce(phrasePrompts(model, weights, pictures));
}

/** The states [N, C] of one picture's answers up to [SEG], as a tape needs them. */
function promptStates(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  prompts: readonly SegmentPrompt[],
): Tensor {
  return atOnce(statesApart(model, weights, features, prompts));
}

/** Prompts with equal rotation run together. */
function* statesApart(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  prompts: readonly SegmentPrompt[],
): Paced<Tensor> {
  const forced = prompts.map((prompt) => prompt.forcedIds.length);
  const parts = rotatedAlike(model.config.language.rope, forced);
  const made: Tensor[] = [];
  for (const part of parts) {
    const own = part.map((at) => prompts[at] as SegmentPrompt);
    made.push(yield* promptsTogether(model, weights, [features], [own]));
  }
  const order = parts.flat();
  const places = prompts.map((_, at) => order.indexOf(at));
  return tf.gather(tf.concat(made, 0), tf.tensor1d(places, "int32"));
}

/** Prompts with equal rotation, [pictures][N]. */
function* promptsTogether(
  model: Sa2vaModel,
  weights: Weights,
  pictures: readonly ImageFeatures[],
  prompts: readonly (readonly SegmentPrompt[])[],
): Paced<Tensor> {
  const language = model.config.language;
  const lengths = prompts.map((own) => own.map(({ forcedIds }) => forcedIds.length));
  const ropeLength = Math.max(...lengths.flat());
  return yield* tidied(function* () {
    const visuals = projectImages(model, weights, pictures);
    const norm = model.config.segAfterNorm;
    const placesOfPrompt = (own: readonly SegmentPrompt[] | undefined, length: number) =>
      promptPlaces(language, own?.[0] as SegmentPrompt, length);
    const embedded = (at: number, upTo: (own: readonly SegmentPrompt[]) => number): Tensor => {
      const own = prompts[at] as readonly SegmentPrompt[];
      const [first] = own as [SegmentPrompt];
      return embedPrompt(model, weights, first, first.forcedIds.slice(0, upTo(own)), visuals[at] as Tensor, []);
    };
    if (prompts[0]?.length === 1) {
      // Nothing is shared: one pass over whole texts replaces one over prefixes and one over last tokens.
      const whole = prompts.map((_, at) => embedded(at, ([only]) => (only as SegmentPrompt).forcedIds.length));
      const { hidden } = yield* languagePass(weights, language, padded(whole, ropeLength), {
        ropeLength,
        norm,
        keepCache: false,
        ...prefixPositions(
          prompts.map((own) => placesOfPrompt(own, ropeLength)),
          whole,
          ropeLength,
        ),
      });
      const places = lengths.map(([only]) => (only as number) - 1);
      return languagePrompt(weights, placesOf(hidden, places));
    }
    const shared = prompts.map((own) =>
      sharedLength(
        own.map((prompt) => prompt.forcedIds),
        Number.POSITIVE_INFINITY,
      ),
    );
    const prefixes = prompts.map((_, at) => embedded(at, () => shared[at] as number));
    const ends = prompts.flatMap((own, at) => own.map(({ forcedIds }) => forcedIds.slice(shared[at])));
    const longest = Math.max(...ends.map((ids) => ids.length));
    const tails = embedIds(
      model,
      weights,
      ends.map((ids) => Array.from({ length: longest }, (_, at) => ids[at] ?? 0)),
    );
    const places = prompts.map((own, at) => placesOfPrompt(own, shared[at] as number));
    const hidden = yield* statesBehind(weights, language, prefixes, tails, ropeLength, { places, norm });
    return languagePrompt(
      weights,
      placesOf(
        hidden,
        ends.map((ids) => ids.length - 1),
      ),
    );
  });
}

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
interface PhraseText {
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
  ): CaptionLogps & { readonly language: Tensor };
}

interface AnswerOptions {
  readonly sampler: SamplerSettings;
  readonly maxCompletionLength: number;
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
  const together = await inPace(phrasePrompts(model, weights, askedIn(about)), signal);
  // Masks are decoded without a wait: nothing before them may keep memory.
  await gpuFinished();
  return phraseOutputs(model, weights, about, together);
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
    async sample(count, { sampler, maxCompletionLength, key }) {
      const batch = captionBatch(model, weights, features, prompt, count);
      const rule = answerRule(model);
      const options = { sampler, maxCompletionLength, greedy: false, oneLength: true };
      const [generated] = await generate(model, weights, [batch], {
        ...options,
        key: (_, rollout) => key(rollout),
        stop: (ids) => ids.at(-1) === segment || rule.reached(ids),
      }).finally(() => tf.dispose([batch.prefix, batch.tails]));
      return generated?.completions ?? [];
    },
    score(answers, places, { sampler, maxCompletionLength }) {
      const group = { features, prompt, completions: answers };
      const scores = captionLogps(model, weights, [group], sampler, maxCompletionLength)[0] as CaptionLogps;
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
