/**
 * Answers any question about a picture: the greedy text, and a mask for every [SEG] that the model writes
 * (docs/spec/sa2va.md#7-generation, docs/spec/sa2va.md#12-from-seg-to-the-language-prompt).
 */
import { badInput, LabError } from "../../engine/errors.ts";
import type { Place } from "../../engine/gpu/kernels/rope.ts";
import { STREAM } from "../../engine/gpu/random.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { promptPlaces } from "../../engine/model/language/config-language.ts";
import { languageForward } from "../../engine/model/language/language.ts";
import type { Sa2vaModel } from "../../engine/model/sa2va.ts";
import { decodeMasks, selectMask } from "../../engine/model/sam2/mask-decoder.ts";
import { type FoundMask, readMasks } from "../../engine/model/sam2/postprocess.ts";
import { languagePrompt } from "../../engine/model/seg-prompt.ts";
import type { Weights } from "../../engine/model/weights/weights.ts";
import { generate } from "../../engine/policy/decode/generate.ts";
import { FULL_SAMPLING } from "../../engine/policy/decode/sampler.ts";
import { embedPrompt, projectVision, shownVision } from "../../engine/policy/embedding.ts";
import type { ImageFeatures } from "../../engine/policy/features.ts";
import { answerRule, type RegionCells } from "../../engine/policy/prompts.ts";
import type { Prompt } from "../../engine/text/prompt.ts";
import { prediction } from "../../engine/text/template.ts";
import type { Tokenizer } from "../../engine/text/tokenizer.ts";

// The greedy answer to an embedded prompt, and the mask prompts of its [SEG] tokens
// (docs/spec/sa2va.md#7-generation, docs/spec/sa2va.md#12-from-seg-to-the-language-prompt).

export interface EmbeddedPrompt {
  readonly ids: readonly number[];
  /** Places of the first `length` tokens of prompt and answer; undefined where they are the tokens' indices. */
  places(length: number): readonly Place[] | undefined;
  /** Embeddings of the prompt's ids, or of a longer sequence that begins with them, [1, T, H]; owned by the caller. */
  embed(ids: readonly number[]): Tensor;
}

export interface AnswerOptions {
  readonly maxCompletionLength: number;
  readonly signal: AbortSignal;
}

interface GreedyAnswer {
  /** New ids, including the end token. */
  readonly ids: readonly number[];
  /** Special tokens kept, without the stop word. */
  readonly text: string;
  /** Positions of [SEG] in `ids`. A [SEG] at the length limit was never read, so it has no state and is left out. */
  readonly places: readonly number[];
  /** False if the length limit cut the answer off. */
  readonly ended: boolean;
}

/**
 * @throws LabError("cancelled") when the signal is aborted, LabError("bad-input") when the model's numbers are not
 * finite
 */
export async function greedyAnswer(
  model: Sa2vaModel,
  weights: Weights,
  prompt: EmbeddedPrompt,
  { maxCompletionLength, signal }: AnswerOptions,
): Promise<GreedyAnswer> {
  const rule = answerRule(model);
  const [prefix, tails] = tf.tidy(() => {
    const whole = prompt.embed(prompt.ids);
    const [, length, width] = whole.shape as [number, number, number];
    return [tf.slice(whole, [0, 0, 0], [1, length - 1, width]), tf.slice(whole, [0, length - 1, 0], [1, 1, width])];
  }) as [Tensor, Tensor];
  const places = prompt.places(prompt.ids.length);
  const positions = places === undefined ? undefined : [places];
  const batch = { prefix, tails, tailLengths: [1], positions, promptIds: prompt.ids };
  const [answered] = await generate(model, weights, [batch], {
    maxCompletionLength,
    sampler: { ...FULL_SAMPLING, guard: Number.POSITIVE_INFINITY },
    greedy: true,
    key: () => ({ seed: 0, step: 0, loop: 0, row: 0, rollout: 0, position: 0, stream: STREAM.token }),
    stop: (ids) => rule.reached(ids),
    signal,
  }).finally(() => tf.dispose([prefix, tails]));
  if (answered === undefined || answered.nonFinite > 0) {
    throw badInput("The model's logits are not finite, so it has no answer; look at its weights");
  }
  const { ids = [], ended = false } = answered.completions[0] ?? {};
  const found = ids.flatMap((id, at) => (id === model.tokenizer.special.seg && at < ids.length - 1 ? [at] : []));
  const said = prediction(model.tokenizer, ids);
  const stop = rule.words.find((word) => said.endsWith(word)) ?? "";
  return { ids, text: said.slice(0, said.length - stop.length).trim(), places: found, ended };
}

/**
 * Prompts of the mask decoder from the states at `places` of an answer.
 * @param places at least one, ascending
 * @returns [places, C]; owned by the caller or its tidy
 */
export function segPrompts(
  model: Sa2vaModel,
  weights: Weights,
  prompt: EmbeddedPrompt,
  answer: readonly number[],
  places: readonly number[],
): Tensor {
  return tf.tidy(() => {
    const { language } = model.config;
    const ids = [...prompt.ids, ...answer.slice(0, (places.at(-1) as number) + 1)];
    const own = prompt.places(ids.length);
    const { hidden } = languageForward(weights, language, prompt.embed(ids), {
      norm: model.config.segAfterNorm,
      ...(own === undefined ? {} : { positions: [own] }),
    });
    const positions = places.map((at) => prompt.ids.length + at);
    const rows = tf.tensor1d(positions, "int32");
    return languagePrompt(weights, tf.gather(hidden.reshape([ids.length, language.hiddenSize]), rows));
  });
}

/** Maximum number of masks decoded at a time, because an answer may have many. */
const MASKS_AT_ONCE = 8;

interface AnsweredMask extends FoundMask {
  /**
   * The mask's phrase in the answer: the last grounded phrase before its [SEG], or all text since the previous [SEG].
   */
  readonly phrase: string;
}

export interface FreeAnswer extends Omit<GreedyAnswer, "places"> {
  /** One per [SEG], in order. A [SEG] at the length limit has no state and therefore no mask. */
  readonly found: readonly AnsweredMask[];
}

/** Picture and regions of a question. */
interface AskedFreely {
  readonly features: ImageFeatures;
  /** Marked regions in the order of their numbers; each covers at least one cell. */
  readonly regions: readonly RegionCells[];
  /** Size of the picture. */
  readonly height: number;
  readonly width: number;
}

/**
 * Answers a prompt greedily.
 * @throws LabError("cancelled") when the signal is aborted, LabError("bad-input") when the model's numbers are not
 * finite
 */
export async function answerFreely(
  model: Sa2vaModel,
  weights: Weights,
  prompt: Prompt,
  about: AskedFreely,
  options: AnswerOptions,
): Promise<FreeAnswer> {
  const embedded: EmbeddedPrompt = {
    ids: prompt.ids,
    places: (length) => promptPlaces(model.config.language, prompt, length),
    embed: (ids) => embed(model, weights, prompt, ids, about),
  };
  const { ids, text, places, ended } = await greedyAnswer(model, weights, embedded, options);
  const masks = await masksAt(model, weights, embedded, about, ids, places);
  if (options.signal.aborted) throw new LabError("cancelled", "The answer was stopped");
  const phrases = phrasesBefore(model.tokenizer, ids, places);
  const found = masks.map((mask, at) => ({ ...mask, phrase: phrases[at] as string }));
  return { ids, text, found, ended };
}

function embed(
  model: Sa2vaModel,
  weights: Weights,
  prompt: Prompt,
  ids: readonly number[],
  { features, regions }: AskedFreely,
): Tensor {
  const [vision, copied] = prompt.regionSpans.length > 0 ? [features.vision, regions] : [shownVision(features), []];
  return tf.tidy(() => embedPrompt(model, weights, prompt, ids, projectVision(model, weights, vision), copied));
}

/** Masks of the answer's states at `places`, decoded a few at a time. */
async function masksAt(
  model: Sa2vaModel,
  weights: Weights,
  prompt: EmbeddedPrompt,
  about: AskedFreely,
  answer: readonly number[],
  places: readonly number[],
): Promise<FoundMask[]> {
  if (places.length === 0) return [];
  const { sam2 } = model.config;
  const prompts = segPrompts(model, weights, prompt, answer, places);
  const { height, width, features } = about;
  const found: FoundMask[] = [];
  try {
    for (let from = 0; from < places.length; from += MASKS_AT_ONCE) {
      const lowRes = tf.tidy(() => {
        const count = Math.min(MASKS_AT_ONCE, places.length - from);
        const some = tf.slice(prompts, [from, 0], [count, prompts.shape[1] as number]);
        const { masks, iou } = decodeMasks(weights, sam2, features.sam, some);
        return selectMask(masks, iou).mask;
      });
      const [read = []] = await readMasks([{ lowRes, height, width }], sam2.imageSize).finally(() => lowRes.dispose());
      found.push(...read);
    }
  } finally {
    prompts.dispose();
  }
  return found;
}

/** The phrase of each [SEG]: the last <p>…</p> since the previous [SEG], or else the text since then. */
export function phrasesBefore(tokenizer: Tokenizer, ids: readonly number[], places: readonly number[]): string[] {
  return places.map((place, at) => {
    const own = ids.slice((places[at - 1] ?? -1) + 1, place);
    const grounded = [...tokenizer.decode(own, { keepSpecial: true }).matchAll(/<p>(.*?)<\/p>/gs)].at(-1)?.[1];
    const text = grounded ?? tokenizer.decode(own).replace(/^[\s,.;:]+/, "");
    return text.replace(/\s+/g, " ").trim();
  });
}
