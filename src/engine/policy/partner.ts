/**
 * Phrase → mask and mask → caption without sampling: what the partner answers, what evaluation measures, and, with a
 * tape, the part of loop 2 that the policy differentiates.
 */
import { STREAM } from "../gpu/random.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { languageForward } from "../model/language.ts";
import { rotatedAlike } from "../model/rope-scaling.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { type DecodedMasks, decodeMasks, selectMask } from "../model/sam2/mask-decoder.ts";
import { imageLogits, maskConfidence, packMask } from "../model/sam2/postprocess.ts";
import { languagePrompt } from "../model/seg-prompt.ts";
import type { Weights } from "../model/weights.ts";
import { embedIds, embedPrompt, padTails, projectImage, sharedLength } from "./embedding.ts";
import type { ImageFeatures } from "./features.ts";
import { generate } from "./generate.ts";
import type { PromptBatch } from "./prefill.ts";
import {
  answerRule,
  type CaptionPrompt,
  captionPrompt,
  countCells,
  plainPhrase,
  regionCells,
  type SegmentPrompt,
  segmentPrompt,
} from "./prompts.ts";
import { FULL_SAMPLING } from "./sampler.ts";

/**
 * Prompts of the mask decoder [N, C] for N phrases about one picture: their [SEG] states through text_hidden_fcs. The
 * texts share everything up to where the phrases begin, which runs once; the rest is a right-padded batch.
 * Differentiable in every trainable tensor.
 */
export function phrasePrompts(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  phrases: readonly string[],
): Tensor {
  const prompts = phrases.map((phrase) => segmentPrompt(model, features.tiles, phrase));
  const parts = rotatedAlike(
    model.config.language.rope,
    prompts.map((prompt) => prompt.forcedIds.length),
  );
  if (parts.length <= 1) return promptsTogether(model, weights, features, prompts);
  return tf.tidy(() => {
    const made = parts.map((part) =>
      promptsTogether(
        model,
        weights,
        features,
        part.map((at) => prompts[at] as SegmentPrompt),
      ),
    );
    const order = parts.flat();
    const places = phrases.map((_, at) => order.indexOf(at));
    return tf.gather(tf.concat(made, 0), tf.tensor1d(places, "int32"));
  });
}

/** The same for phrases whose texts are rotated alike. */
function promptsTogether(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  prompts: readonly SegmentPrompt[],
): Tensor {
  const first = prompts[0] as (typeof prompts)[number];
  const shared = sharedLength(
    prompts.map((prompt) => prompt.forcedIds),
    Number.POSITIVE_INFINITY,
  );
  return tf.tidy(() => {
    const visual = projectImage(weights, features);
    const language = model.config.language;
    if (prompts.length === 1) {
      // Nobody to share with: one pass over the whole text instead of one over its beginning and one over its last token.
      const { hidden } = languageForward(
        weights,
        language,
        embedPrompt(model, weights, first, first.forcedIds, visual, null),
      );
      return languagePrompt(weights, placeOf(hidden, 0, first.forcedIds.length - 1));
    }
    const prefix = embedPrompt(model, weights, first, first.forcedIds.slice(0, shared), visual, null);
    const tails = prompts.map((prompt) => {
      const own = embedIds(model, weights, [prompt.forcedIds.slice(shared)]);
      return own.reshape(own.shape.slice(1));
    });
    const batch = padTails(prefix, tails);
    const ropeLength = Math.max(...prompts.map((prompt) => prompt.forcedIds.length));
    const { cache } = languageForward(weights, language, batch.prefix, { ropeLength });
    const { hidden } = languageForward(weights, language, batch.tails, { past: cache, ropeLength });
    const atSeg = batch.tailLengths.map((length, row) => placeOf(hidden, row, length - 1));
    return languagePrompt(weights, tf.concat(atSeg, 0));
  });
}

/** Hidden state of one place, [1, D], of [B, T, D]. */
function placeOf(hidden: Tensor, row: number, at: number): Tensor {
  const width = hidden.shape[2] as number;
  return tf.slice(hidden, [row, at, 0], [1, 1, width]).reshape([1, width]);
}

/** Decoder output for N phrases about one picture; differentiable in every trainable tensor. */
export function segmentPhraseLogits(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  phrases: readonly string[],
): DecodedMasks {
  const [masks, iou, objectScore] = tf.tidy(() => {
    const language = phrasePrompts(model, weights, features, phrases);
    const decoded = decodeMasks(weights, model.config.sam2, features.sam, language);
    return [decoded.masks, decoded.iou, decoded.objectScore];
  }) as [Tensor, Tensor, Tensor];
  return { masks, iou, objectScore };
}

/** Masks at image size, 0/1 row-major, for each phrase; null for an empty phrase, which names nothing. */
export async function segmentPhrases(...args: Parameters<typeof findMasks>): Promise<(Uint8Array | null)[]> {
  return (await findMasks(...args)).map((found) => found?.mask ?? null);
}

/** A mask at image size, 0/1 row-major, and its mean probability inside (null when it is empty). */
export interface FoundMask {
  readonly mask: Uint8Array;
  readonly confidence: number | null;
}

/** What is found for each phrase; null for an empty phrase, which names nothing. */
export async function findMasks(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  phrases: readonly string[],
  height: number,
  width: number,
): Promise<(FoundMask | null)[]> {
  const asked = phrases.flatMap((phrase, index) => (plainPhrase(phrase) === "" ? [] : [{ phrase, index }]));
  const masks: (FoundMask | null)[] = phrases.map(() => null);
  if (asked.length === 0) return masks;
  const full = tf.tidy(() => {
    const decoded = segmentPhraseLogits(
      model,
      weights,
      features,
      asked.map((item) => item.phrase),
    );
    return imageLogits(selectMask(decoded.masks, decoded.iou).mask, model.config.sam2.imageSize, height, width);
  });
  const logits = (await full.data()) as Float32Array;
  full.dispose();
  asked.forEach(({ index }, n) => {
    const own = logits.subarray(n * height * width, (n + 1) * height * width);
    masks[index] = { mask: packMask(own), confidence: maskConfidence(own) };
  });
  return masks;
}

export interface DescribeOptions {
  readonly maxNewTokens: number;
  readonly logitGuard: number;
  readonly keepTiny: boolean;
  readonly signal: AbortSignal;
}

/** Masks of one picture, to be described. */
export interface DescribedPicture {
  readonly features: ImageFeatures;
  /** 0/1, row-major, height · width each. */
  readonly masks: readonly Uint8Array[];
  readonly height: number;
  readonly width: number;
}

/** Greedy captions of masks of one picture; null for a mask that covers no visual token. */
export async function describeMasks(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  masks: readonly Uint8Array[],
  height: number,
  width: number,
  options: DescribeOptions,
): Promise<(string | null)[]> {
  const [captions] = await describePictures(model, weights, [{ features, masks, height, width }], options);
  return captions as (string | null)[];
}

/** The same for several pictures in one batch; one list a picture. */
export async function describePictures(
  model: Sa2vaModel,
  weights: Weights,
  pictures: readonly DescribedPicture[],
  options: DescribeOptions,
): Promise<(string | null)[][]> {
  const captions = pictures.map(({ masks }) => masks.map((): string | null => null));
  const asked = pictures.map(({ features, masks, height, width }) =>
    masks.flatMap((mask, index) => {
      const cells = regionCells(model, mask, height, width, options.keepTiny);
      return countCells(cells) === 0 ? [] : [{ prompt: captionPrompt(model, features.tiles, cells), index }];
    }),
  );
  const groups = pictures.flatMap((picture, at) => {
    const own = asked[at] ?? [];
    return own.length === 0 ? [] : [{ at, own, batch: describeBatch(model, weights, picture.features, own) }];
  });
  if (groups.length === 0) return captions;
  const rule = answerRule(model);
  const generated = await generate(
    model,
    weights,
    groups.map(({ batch }) => batch),
    {
      maxNewTokens: options.maxNewTokens,
      sampler: { ...FULL_SAMPLING, guard: options.logitGuard },
      greedy: true,
      key: (row, rollout) => ({ seed: 0, step: 0, loop: 0, row, rollout, position: 0, stream: STREAM.token }),
      stop: (ids) => rule.reached(ids),
      signal: options.signal,
    },
  ).finally(() => tf.dispose(groups.flatMap(({ batch }) => [batch.prefix, batch.tails])));
  groups.forEach(({ at, own }, group) => {
    own.forEach(({ index }, row) => {
      (captions[at] as (string | null)[])[index] = rule.answer(generated[group]?.completions[row]?.ids ?? []);
    });
  });
  return captions;
}

/** Prompts of one picture's regions, which part where the picture's own tokens end. */
function describeBatch(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  asked: readonly { readonly prompt: CaptionPrompt }[],
): PromptBatch {
  // Region tokens have one id but different contents, so sharing ends with the picture's own tokens.
  const shared = sharedLength(
    asked.map((item) => item.prompt.ids),
    asked[0]?.prompt.imageSpan.end ?? 0,
  );
  const [prefix, ...tails] = tf.tidy(() => {
    const visual = projectImage(weights, features);
    const whole = asked.map(({ prompt }) => embedPrompt(model, weights, prompt, prompt.ids, visual, prompt.cells));
    const size = model.config.language.hiddenSize;
    const head = tf.slice(whole[0] as Tensor, [0, 0, 0], [1, shared, size]);
    const rest = whole.map((embedding) => {
      const length = (embedding.shape[1] as number) - shared;
      return tf.slice(embedding, [0, shared, 0], [1, length, size]).reshape([length, size]);
    });
    return [head, ...rest];
  }) as [Tensor, ...Tensor[]];
  const batch = padTails(prefix, tails);
  tf.dispose(tails);
  return batch;
}
