import type { RolloutFacts } from "../term.ts";
import type { Measured, TermSpec } from "./spec.ts";

/** Uses teacher forcing instead of decoding: every token of the caption contributes to the score of a mask. */
export const LIKELIHOOD = {
  name: "likelihood",
  label: "Caption likelihood",
  help: "Likelihood of the row's caption given the predicted mask: the exponential of its mean log-probability per token",
  measure: (facts) => seen(facts, ({ likelihood }) => ({ value: likelihood })),
} as const satisfies TermSpec;

/** A mask that covers no visual token scores 0; with IoU, too, a missing mask scores 0. */
export function seen(
  { predicted, likelihood }: RolloutFacts,
  term: (known: NonNullable<RolloutFacts["likelihood"]>) => Measured,
): Measured | undefined {
  if (likelihood === undefined) return undefined;
  if (likelihood !== null) return term(likelihood);
  return { value: 0, note: predicted === null ? "no mask" : "covers no visual token" };
}
