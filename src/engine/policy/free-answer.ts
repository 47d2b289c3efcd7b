/**
 * Answers any question about a picture: the greedy text, and a mask for every [SEG] that the model writes
 * (docs/spec/sa2va.md#7-generation, docs/spec/sa2va.md#12-from-seg-to-the-language-prompt).
 */
import { badInput, LabError } from "../errors.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { promptPlaces } from "../model/language/places.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import { decodeMasks, selectMask } from "../model/sam2/mask-decoder.ts";
import { type FoundMask, readMasks } from "../model/sam2/postprocess.ts";
import type { Weights } from "../model/weights/weights.ts";
import { buildPrompt, IMAGE_PLACEHOLDER, type Prompt, QUESTION_WORDING } from "../text/prompt.ts";
import type { Tokenizer } from "../text/tokenizer.ts";
import { embedPrompt, projectVision, shownVision } from "./embedding.ts";
import type { ImageFeatures } from "./features.ts";
import { contextTokens, fitCaption } from "./fit-caption.ts";
import {
  type AnswerOptions,
  type EmbeddedPrompt,
  type GreedyAnswer,
  greedyAnswer,
  segPrompts,
} from "./greedy-answer.ts";
import { countCells, drawnRegion, type RegionCells } from "./prompts.ts";

/** Maximum number of masks decoded at a time, because an answer may have many. */
const MASKS_AT_ONCE = 8;

export interface AnsweredMask extends FoundMask {
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
export interface AskedFreely {
  readonly features: ImageFeatures;
  /** Marked regions in the order of their numbers; each covers at least one cell. */
  readonly regions: readonly RegionCells[];
  /** Size of the picture. */
  readonly height: number;
  readonly width: number;
}

/**
 * The prompt of a user's question. Line breaks are kept; special tokens in it are read as text.
 * @throws LabError("bad-input") when the question leaves no room for an answer in the model's context
 */
export function questionPrompt(
  model: Sa2vaModel,
  question: string,
  about: Omit<AskedFreely, "height" | "width">,
): Prompt {
  const { features, regions } = about;
  const { marks } = features;
  const drawn = marks !== undefined && regions.length > 0;
  if (drawn && regions.length > 1) {
    throw badInput("One region can be drawn into the picture; ask about one region at a time", "regions");
  }
  const regionTokenCounts = drawn ? [] : regions.map(countCells);
  const text = drawn ? `${IMAGE_PLACEHOLDER}\nregion1 is ${drawnRegion(marks.form)}.\n{phrase}` : QUESTION_WORDING;
  const { made, cut } = fitCaption(
    model,
    question.trim(),
    (phrase) =>
      buildPrompt(model.tokenizer, model.config, {
        text,
        phrase,
        tiles: features.tiles,
        grid: features.grid,
        regionTokenCounts,
      }),
    ({ ids }) => ids.length,
  );
  if (!cut) return made;
  throw badInput(
    `The question leaves no room for an answer in the model's context of ${contextTokens(model)} tokens; nothing was asked`,
    "question",
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
