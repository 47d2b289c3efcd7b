/** Converts phrases about pictures to prompts of the mask decoder. */
import { atOnce, type Paced, tidied } from "../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { languagePass } from "../model/language/language.ts";
import { promptPlaces } from "../model/language/places.ts";
import { rotatedAlike } from "../model/language/rope-scaling.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { languagePrompt } from "../model/seg-prompt.ts";
import type { Weights } from "../model/weights/weights.ts";
import { padded, prefixPositions } from "./decode/prefill.ts";
import { batchesOf, placesOf, statesBehind } from "./decode/shared-prompts.ts";
import { embedIds, embedPrompt, projectImages, sharedLength } from "./embedding.ts";
import type { ImageFeatures } from "./features.ts";
import { type SegmentPrompt, segmentPrompt } from "./prompts.ts";

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
export function promptStates(
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
