/**
 * Phrase → mask and mask → caption without sampling: what the partner answers, what evaluation measures, and, with a
 * tape, the part of loop 2 that the policy differentiates.
 */
import { type Tensor, tf } from "../gpu/tf.ts";
import { languageForward } from "../model/language.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { type DecodedMasks, decodeMasks, selectMask } from "../model/sam2/mask-decoder.ts";
import { imageLogits, packMask } from "../model/sam2/postprocess.ts";
import { languagePrompt } from "../model/seg-prompt.ts";
import type { Weights } from "../model/weights.ts";
import { embedIds, embedPrompt, padTails, projectImage, sharedLength } from "./embedding.ts";
import type { ImageFeatures } from "./features.ts";
import { generate } from "./generate.ts";
import { answerRule, captionPrompt, countCells, plainPhrase, regionCells, segmentPrompt } from "./prompts.ts";
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
  const first = prompts[0] as (typeof prompts)[number];
  const shared = sharedLength(
    prompts.map((prompt) => prompt.forcedIds),
    Number.POSITIVE_INFINITY,
  );
  return tf.tidy(() => {
    const visual = projectImage(weights, features);
    const prefix = embedPrompt(model, weights, first, first.forcedIds.slice(0, shared), visual, null);
    const tails = prompts.map((prompt) => {
      const own = embedIds(model, weights, [prompt.forcedIds.slice(shared)]);
      return own.reshape(own.shape.slice(1));
    });
    const batch = padTails(prefix, tails);
    const { cache } = languageForward(weights, model.config.language, batch.prefix);
    const { hidden } = languageForward(weights, model.config.language, batch.tails, { past: cache });
    const width = hidden.shape[2] as number;
    const atSeg = batch.tailLengths.map((length, row) =>
      tf.slice(hidden, [row, length - 1, 0], [1, 1, width]).reshape([1, width]),
    );
    return languagePrompt(weights, atSeg.length === 1 ? (atSeg[0] as Tensor) : tf.concat(atSeg, 0));
  });
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

/**
 * Masks at image size, 0/1 row-major, for each phrase; null for an empty phrase, which names nothing.
 */
export async function segmentPhrases(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  phrases: readonly string[],
  height: number,
  width: number,
): Promise<(Uint8Array | null)[]> {
  const asked = phrases.flatMap((phrase, index) => (plainPhrase(phrase) === "" ? [] : [{ phrase, index }]));
  const masks: (Uint8Array | null)[] = phrases.map(() => null);
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
    masks[index] = packMask(logits.subarray(n * height * width, (n + 1) * height * width));
  });
  return masks;
}

export interface DescribeOptions {
  readonly maxNewTokens: number;
  readonly logitGuard: number;
  readonly keepTiny: boolean;
  readonly signal: AbortSignal;
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
  const captions: (string | null)[] = masks.map(() => null);
  const asked = masks.flatMap((mask, index) => {
    const cells = regionCells(model, mask, height, width, options.keepTiny);
    return countCells(cells) === 0 ? [] : [{ prompt: captionPrompt(model, features.tiles, cells), index }];
  });
  const first = asked[0]?.prompt;
  if (first === undefined) return captions;
  // Region tokens have one id but different contents, so sharing ends with the picture's own tokens.
  const shared = sharedLength(
    asked.map((item) => item.prompt.ids),
    first.imageSpan.end,
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
  const rule = answerRule(model);
  const { completions } = await generate(model, weights, batch, {
    maxNewTokens: options.maxNewTokens,
    sampler: { ...FULL_SAMPLING, guard: options.logitGuard },
    greedy: true,
    uniform: () => 0.5,
    stop: (ids) => rule.reached(ids),
    signal: options.signal,
  }).finally(() => tf.dispose([batch.prefix, batch.tails]));
  asked.forEach(({ index }, n) => {
    captions[index] = rule.answer(completions[n]?.ids ?? []);
  });
  return captions;
}
