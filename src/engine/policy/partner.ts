/**
 * Phrase → mask and mask → caption without sampling: for the partner's answers, for evaluation and, on the tape, for
 * the part of loop 2 that is differentiated.
 */
import { type RandomKey, STREAM } from "../gpu/random.ts";
import { gpuFinished, inPace } from "../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { type DecodedMasks, selectMask } from "../model/sam2/mask-decoder.ts";
import { type FoundMask, type PictureSize, readMasks } from "../model/sam2/postprocess.ts";
import type { Weights } from "../model/weights/weights.ts";
import { plainPhrase } from "../text/prompt.ts";
import { generate } from "./decode/generate.ts";
import type { PromptBatch } from "./decode/prefill.ts";
import { FULL_SAMPLING } from "./decode/sampler.ts";
import { embedTogether, projectVision, shownVision } from "./embedding.ts";
import { type ImageFeatures, shownFeatures } from "./features.ts";
import { type AskedPicture, decodeFrames, frameCount, phrasePrompts, phrasePromptsOf } from "./phrase-output.ts";
import { answerRule, type CaptionPrompt, captionPrompt, countCells, regionCells } from "./prompts.ts";

/**
 * Decoder output for the phrases about several pictures or clips, the same number for each, in the order of
 * `decodeFrames`; differentiable in every trainable tensor.
 */
export function segmentPictures(model: Sa2vaModel, weights: Weights, pictures: readonly AskedPicture[]): DecodedMasks {
  const all = pictures.map(({ features }) => features);
  return tf.tidy(() => ({ ...decodeFrames(model, weights, all, phrasePromptsOf(model, weights, pictures)) }));
}

/** A picture, its phrases and its size. */
interface SearchedPicture extends AskedPicture, PictureSize {}

/**
 * The mask for each phrase of several pictures, in one batch, one list per picture; null for an empty phrase.
 * @throws LabError("cancelled") when the signal is aborted
 */
export async function findInPictures(
  model: Sa2vaModel,
  weights: Weights,
  pictures: readonly SearchedPicture[],
  signal?: AbortSignal,
): Promise<(FoundMask | null)[][]> {
  const asked = pictures
    .map((picture, at) => ({
      ...picture,
      at,
      named: picture.phrases.flatMap((phrase, index) => (plainPhrase(phrase) === "" ? [] : [index])),
    }))
    .filter(({ named }) => named.length > 0);
  const found = pictures.map(({ phrases }) => phrases.map((): FoundMask | null => null));
  if (asked.length === 0) return found;
  const most = Math.max(...asked.map(({ named }) => named.length));
  const even = asked.map(({ features, phrases, named }) => {
    const own = named.map((index) => phrases[index] as string);
    // All pictures of a batch need the same number of phrases: shorter lists repeat their first phrase.
    return { features, phrases: Array.from({ length: most }, (_, n) => own[n] ?? (own[0] as string)) };
  });
  const prompts = await inPace(phrasePrompts(model, weights, even), signal);
  // Masks are decoded without a wait: nothing before them may keep memory.
  await gpuFinished();
  const maps = tf.tidy(() => {
    const pictured = even.map(({ features }) => features);
    const decoded = decodeFrames(model, weights, pictured, prompts);
    prompts.dispose();
    const { mask } = selectMask(decoded.masks, decoded.iou);
    const [, side, across] = mask.shape as [number, number, number];
    let from = 0;
    return asked.map(({ features, named }) => {
      const frames = frameCount(features);
      from += frames * most;
      if (asked.length === 1 && frames === 1) return mask;
      // Each frame has the masks of all phrases; here each phrase gets its strip.
      const own = tf.slice(mask, [from - frames * most, 0, 0], [frames * most, side, across]);
      const turned = tf.transpose(own.reshape([frames, most, side * across]), [1, 0, 2]);
      return tf.slice(turned.reshape([most, frames * side, across]), [0, 0, 0], [named.length, frames * side, across]);
    });
  });
  const sized = asked.map(({ height, width, view }, n) => ({ lowRes: maps[n] as Tensor, height, width, view }));
  const read = await readMasks(sized, model.config.sam2.imageSize).finally(() => tf.dispose(maps));
  asked.forEach(({ at, named }, n) => {
    named.forEach((index, row) => {
      (found[at] as (FoundMask | null)[])[index] = read[n]?.[row] as FoundMask;
    });
  });
  return found;
}

interface DescribeOptions {
  readonly maxCompletionLength: number;
  readonly logitGuard: number;
  readonly keepTiny: boolean;
  /** Number of pictures whose prompts are computed in one pass; all by default and for 0. */
  readonly groupsAtOnce?: number;
  readonly signal: AbortSignal;
  /** Samples captions instead of taking the likeliest ones; gives the address of the draws for a picture and mask. */
  readonly sampling?: { readonly temperature: number; readonly key: (picture: number, mask: number) => RandomKey };
}

/** Masks of one picture to describe. */
export interface DescribedPicture extends PictureSize {
  readonly features: ImageFeatures;
  /** 0/1, row-major, height · width each. */
  readonly masks: readonly Uint8Array[];
}

/**
 * Captions of masks of several pictures, in one batch, one list per picture: the likeliest ones unless they are sampled;
 * null for a mask that covers no visual token.
 */
export async function describePictures(
  model: Sa2vaModel,
  weights: Weights,
  pictures: readonly DescribedPicture[],
  options: DescribeOptions,
): Promise<(string | null)[][]> {
  const { sampling } = options;
  const captions = pictures.map(({ masks }) => masks.map((): string | null => null));
  const asked = pictures.map(({ features, masks, height, width, view }) =>
    masks.flatMap((mask, index) => {
      const cells = regionCells(model, mask, height, width, options.keepTiny, view, features.grid);
      return countCells(cells) === 0 ? [] : [{ prompt: captionPrompt(model, features, cells), index, mask }];
    }),
  );
  const groups: DescribedGroup[] = [];
  try {
    for (const [at, { features }] of pictures.entries()) {
      const own = asked[at] ?? [];
      // A region that is drawn has its own picture, so that nothing is shared.
      const apart = features.marks === undefined ? (own.length === 0 ? [] : [own]) : own.map((one) => [one]);
      for (const together of apart) {
        const [first] = together as [AskedRegion];
        const shown = await shownFeatures(features, [first.mask]);
        const batch = describeBatch(model, weights, shown.all[0] as ImageFeatures, together);
        shown.dispose();
        groups.push({ at, own: together, batch });
      }
    }
  } catch (thrown) {
    tf.dispose(groups.flatMap(({ batch }) => [batch.prefix, batch.tails]));
    throw thrown;
  }
  if (groups.length === 0) return captions;
  const rule = answerRule(model);
  const generated = await generate(
    model,
    weights,
    groups.map(({ batch }) => batch),
    {
      maxCompletionLength: options.maxCompletionLength,
      sampler: { ...FULL_SAMPLING, guard: options.logitGuard, temperature: sampling?.temperature ?? 1 },
      greedy: sampling === undefined,
      key: (row, rollout) => {
        if (sampling === undefined)
          return { seed: 0, step: 0, loop: 0, row, rollout, position: 0, stream: STREAM.token };
        const { at, own } = groups[row] as DescribedGroup;
        return sampling.key(at, own[rollout]?.index ?? 0);
      },
      ...(options.groupsAtOnce === undefined ? {} : { groupsAtOnce: options.groupsAtOnce }),
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

interface AskedRegion {
  readonly prompt: CaptionPrompt;
  /** Its place among the picture's masks. */
  readonly index: number;
  readonly mask: Uint8Array;
}

/** Regions of the picture at a place of the list that are described together. */
interface DescribedGroup {
  readonly at: number;
  readonly own: readonly AskedRegion[];
  readonly batch: PromptBatch;
}

/** Prompts of one picture's regions. */
function describeBatch(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  asked: readonly { readonly prompt: CaptionPrompt }[],
): PromptBatch {
  const projected = projectVision(model, weights, shownVision(features));
  const prompts = asked.map(({ prompt }) => prompt);
  const batch = embedTogether(model, weights, prompts, projected);
  projected.dispose();
  return batch;
}
