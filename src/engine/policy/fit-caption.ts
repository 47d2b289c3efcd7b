/** Cuts captions that are too long for the language model's context. */
import type { Sa2vaModel } from "../model/sa2va.ts";
import { type Answer, encodeCaption, plainPhrase } from "../text/prompt.ts";

/** Longest sequence of the published training recipe (docs/spec/sa2va.md#18-supervised-training-recipe). */
const RECIPE_TOKENS = 8192;
/** A caption keeps at least this many tokens, however long the prompt is. */
const LEAST_TOKENS = 32;
/** No vocabulary has longer pieces, except for runs of blanks. */
const LONGEST_PIECE = 64;

/** Maximum tokens of a prompt and its answer. */
export function contextTokens({ config }: Pick<Sa2vaModel, "config">): number {
  return Math.min(RECIPE_TOKENS, config.language.maxPositions);
}

export interface Fitted<T> {
  readonly made: T;
  /** The text that was used, cut if it was too long. */
  readonly text: string;
  readonly cut: boolean;
}

/**
 * Builds a sequence around a text that fits the context.
 * @param make builds it from a text
 * @param lengthOf number of tokens of the result
 */
export function fitCaption<T>(
  model: Pick<Sa2vaModel, "config" | "tokenizer">,
  whole: string,
  make: (text: string) => T,
  lengthOf: (made: T) => number,
): Fitted<T> {
  const limit = contextTokens(model);
  // Text that cannot fit is not tokenised.
  let text = cutText(whole, LONGEST_PIECE * limit);
  let made = make(text);
  for (let over = lengthOf(made) - limit; over > 0; over = lengthOf(made) - limit) {
    const tokens = model.tokenizer.encode(text, [{ start: 0, end: text.length }]).length;
    if (tokens <= LEAST_TOKENS) break;
    // Tokens differ in length, so one cut may not be enough.
    const kept = Math.max(LEAST_TOKENS, tokens - over) / tokens;
    text = cutText(text, Math.min(text.length - 1, Math.floor(kept * text.length)));
    made = make(text);
  }
  return { made, text, cut: text !== whole };
}

/** A caption, in one line, as the answer to a prompt. @param prompt number of tokens of the prompt */
export function fittedCaption(
  model: Pick<Sa2vaModel, "config" | "tokenizer">,
  caption: string,
  prompt: number,
): Fitted<Answer> {
  const make = (text: string): Answer => encodeCaption(model.tokenizer, model.config.template, text);
  return fitCaption(model, plainPhrase(caption), make, ({ ids }) => prompt + ids.length);
}

/** The start of a text, without a split letter or word at its end. */
function cutText(text: string, letters: number): string {
  if (text.length <= letters) return text;
  const begin = text.slice(0, letters).replace(/[\ud800-\udbff]$/, "");
  const word = begin.lastIndexOf(" ");
  return word > letters / 2 ? begin.slice(0, word) : begin;
}
