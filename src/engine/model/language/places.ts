/**
 * Places of tokens for the rotation. In text they are consecutive numbers; a language model whose rotation has rows and
 * columns gives each visual token those of its cell (docs/spec/qwen-vl.md#6-language-model).
 */
import type { Place } from "../../gpu/kernels/rope.ts";
import type { Prompt } from "../../text/prompt.ts";
import type { LanguageConfig } from "./config-language.ts";

/** The first position beyond a place in every coordinate. */
export const nextTo = (place: Place): number => 1 + (typeof place === "number" ? place : Math.max(...place));

/** `count` positions from `from` on. */
export const inOrder = (from: number, count: number): number[] => Array.from({ length: count }, (_, at) => from + at);

/**
 * Places of the first `length` tokens of a prompt and what follows it. Copied tokens of regions count as text.
 * @returns undefined where places are the tokens' indices
 */
export function promptPlaces(
  { rope }: Pick<LanguageConfig, "rope">,
  { imageSpan, frameSpans = [imageSpan], grid }: Pick<Prompt, "imageSpan" | "frameSpans" | "grid">,
  length: number,
): Place[] | undefined {
  if (rope.axes === undefined || grid === undefined) return undefined;
  const places: Place[] = [];
  let next = 0;
  const writeText = (upTo: number): void => {
    while (places.length < Math.min(upTo, length)) places.push(next++);
  };
  for (const { start, end } of frameSpans) {
    writeText(start);
    for (let at = start; at < Math.min(end, length); at++) {
      const [row, col] = [Math.floor((at - start) / grid.cols), (at - start) % grid.cols];
      places.push([next, next + row, next + col]);
    }
    next += Math.max(grid.rows, grid.cols);
  }
  writeText(length);
  return places;
}
