import { meteorTokens } from "../meteor/tokens.ts";
import { type Measured, NO_REFERENCE, type TermSpec, type TermTools } from "./spec.ts";

/** Prevents long captions from gaining METEOR's recall (docs/spec/rewards.md#4-reward-hacking). */
export const LENGTH = {
  name: "length",
  label: "Length cost",
  help: "Penalty for words beyond the free length",
  cost: true,
  measure: ({ caption, reference }, { settings }: TermTools): Measured =>
    reference === null ? NO_REFERENCE : { value: lengthCost(caption ?? "", reference, settings.lengthRatio) },
} as const satisfies TermSpec;

/**
 * 0 up to `ratio` times the reference's words, then linear up to 1 at `ratio + 1` times. A reference without words
 * counts as one word.
 */
export function lengthCost(caption: string, reference: string, ratio: number): number {
  const multiple = meteorTokens(caption).length / Math.max(1, meteorTokens(reference).length);
  return Math.min(1, Math.max(0, multiple - ratio));
}
