import type { RolloutFacts } from "../term.ts";
import type { Measured, TermSpec } from "./spec.ts";

/** Teacher forcing in place of decoding: a mask is judged by every token of the caption. */
export const LIKELIHOOD = {
  name: "likelihood",
  label: "Caption likelihood",
  help: "How likely the row's caption is given the predicted mask: the exponential of its mean log-probability per token",
  measure: (facts) => seen(facts, ({ likelihood }) => ({ value: likelihood })),
} as const satisfies TermSpec;

/** A mask that the captioner cannot see is worth 0, as with IoU. */
export function seen(
  { predicted, likelihood }: RolloutFacts,
  term: (known: NonNullable<RolloutFacts["likelihood"]>) => Measured,
): Measured | undefined {
  if (likelihood === undefined) return undefined;
  if (likelihood !== null) return term(likelihood);
  return { value: 0, note: predicted === null ? "no mask" : "covers no visual token" };
}
