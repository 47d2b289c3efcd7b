/**
 * Answers any question about a picture: the greedy text, and a mask for every [SEG] that the model writes
 * (docs/spec/sa2va.md#7-generation, docs/spec/sa2va.md#12-from-seg-to-the-language-prompt).
 */
import { LabError } from "../errors.ts";
import { STREAM } from "../gpu/random.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { languageForward } from "../model/language/language.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { decodeMasks, selectMask } from "../model/sam2/mask-decoder.ts";
import { type FoundMask, readMasks } from "../model/sam2/postprocess.ts";
import { languagePrompt } from "../model/seg-prompt.ts";
import type { Weights } from "../model/weights/weights.ts";
import { buildPrompt, type Prompt, QUESTION_WORDING } from "../text/prompt.ts";
import { prediction } from "../text/template.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { generate } from "./decode/generate.ts";
import { FULL_SAMPLING } from "./decode/sampler.ts";
import { embedRegions, projectImage } from "./embedding.ts";
import type { ImageFeatures } from "./features.ts";
import { contextTokens, fitCaption } from "./fit-caption.ts";
import { answerRule, countCells, type RegionCells } from "./prompts.ts";

/** Masks decoded at a time, because an answer may hold many. */
const MASKS_AT_ONCE = 8;

export interface AnsweredMask extends FoundMask {
  /** Its phrase in the answer: the last grounded phrase before its [SEG], or all text since the previous one. */
  readonly phrase: string;
}

export interface FreeAnswer {
  /** New ids, including the end token. */
  readonly ids: readonly number[];
  /** Special tokens kept, without the stop word. */
  readonly text: string;
  /** One per [SEG], in order. A [SEG] at the length limit has no state and so no mask. */
  readonly found: readonly AnsweredMask[];
  /** False if the length limit cut the answer off. */
  readonly ended: boolean;
}

/** Picture and regions of a question. */
export interface AskedFreely {
  readonly features: ImageFeatures;
  /** Marked regions in the order of their numbers; each covers at least one cell. */
  readonly regions: readonly RegionCells[];
  /** Size of the picture. */
  readonly height: number;
  readonly width: number;
}

export interface FreeOptions {
  readonly maxNewTokens: number;
  readonly signal: AbortSignal;
}

/**
 * The prompt of a user's question; special tokens in it are read as text.
 * @throws LabError("bad-input") when it leaves no room for an answer in the model's context
 */
export function questionPrompt(
  model: Sa2vaModel,
  question: string,
  about: Omit<AskedFreely, "height" | "width">,
): Prompt {
  const { features, regions } = about;
  const regionTokenCounts = regions.map(countCells);
  const { made, cut } = fitCaption(
    model,
    question,
    (phrase) =>
      buildPrompt(model.tokenizer, model.config, {
        text: QUESTION_WORDING,
        phrase,
        tiles: features.tiles,
        regionTokenCounts,
      }),
    ({ ids }) => ids.length,
  );
  if (!cut) return made;
  throw new LabError(
    "bad-input",
    `The question is longer than the model's context of ${contextTokens(model)} tokens leaves room for; nothing was asked`,
    { subject: "question" },
  );
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
  { maxNewTokens, signal }: FreeOptions,
): Promise<FreeAnswer> {
  const rule = answerRule(model);
  const [prefix, tails] = tf.tidy(() => {
    const whole = embedded(model, weights, prompt, prompt.ids, about);
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
  const { ids = [], ended = false } = answered.completions[0] ?? {};
  // The state is that of the step that reads [SEG]; a final [SEG] was never read.
  const places = ids.flatMap((id, at) => (id === model.tokenizer.special.seg && at < ids.length - 1 ? [at] : []));
  const masks = await masksAt(model, weights, prompt, about, ids, places);
  if (signal.aborted) throw new LabError("cancelled", "The answer was stopped");
  const phrases = phrasesBefore(model.tokenizer, ids, places);
  const said = prediction(model.tokenizer, ids);
  const stop = rule.words.find((word) => said.endsWith(word)) ?? "";
  return {
    ids,
    text: said.slice(0, said.length - stop.length).trim(),
    found: masks.map((mask, at) => ({ ...mask, phrase: phrases[at] as string })),
    ended,
  };
}

function embedded(
  model: Sa2vaModel,
  weights: Weights,
  prompt: Prompt,
  ids: readonly number[],
  { features, regions }: AskedFreely,
): Tensor {
  return tf.tidy(() => embedRegions(model, weights, prompt, ids, projectImage(weights, features), regions));
}

/** Masks of the states at `places` of the answer, a few at a time. */
async function masksAt(
  model: Sa2vaModel,
  weights: Weights,
  prompt: Prompt,
  about: AskedFreely,
  answer: readonly number[],
  places: readonly number[],
): Promise<FoundMask[]> {
  const last = places.at(-1);
  if (last === undefined) return [];
  const { language, sam2 } = model.config;
  const prompts = tf.tidy(() => {
    const ids = [...prompt.ids, ...answer.slice(0, last + 1)];
    const { hidden } = languageForward(weights, language, embedded(model, weights, prompt, ids, about));
    const rows = tf.tensor1d(
      places.map((at) => prompt.ids.length + at),
      "int32",
    );
    return languagePrompt(weights, tf.gather(hidden.reshape([ids.length, language.hiddenSize]), rows));
  });
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
