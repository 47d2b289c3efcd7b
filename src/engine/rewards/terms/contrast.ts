import { seen } from "./likelihood.ts";
import type { TermSpec } from "./spec.ts";

/** Unlike the likelihood, it does not reward a mask for words that fit every object in the picture. */
export const CONTRAST = {
  name: "contrast",
  label: "Caption contrast",
  help: "Probability of the row's caption given the predicted mask, relative to the captions of the picture's other objects",
  measure: (facts) =>
    seen(facts, ({ contrast }) =>
      contrast === null ? { value: null, note: "no other object in the picture" } : { value: contrast },
    ),
} as const satisfies TermSpec;
