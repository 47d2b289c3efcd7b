import { seen } from "./likelihood.ts";
import type { TermSpec } from "./spec.ts";

/** Unlike the likelihood it pays nothing for what fits every thing of the picture. */
export const CONTRAST = {
  name: "contrast",
  label: "Caption contrast",
  help: "Probability of the row's caption given the predicted mask, against the captions of the other things of the picture",
  measure: (facts) =>
    seen(facts, ({ contrast }) =>
      contrast === null ? { value: null, note: "no other thing in the picture" } : { value: contrast },
    ),
} as const satisfies TermSpec;
