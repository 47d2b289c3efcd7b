import type { Measured, TermSpec } from "./spec.ts";

export const CONFIDENCE = {
  name: "confidence",
  label: "Mask confidence",
  help: "Mean probability inside the predicted mask",
  measure: ({ confidence, predicted }): Measured => {
    if (confidence !== null) return { value: confidence };
    if (predicted === null) return { value: 0, note: "no mask" };
    return { value: null, note: "the mask's probabilities are not known" };
  },
} as const satisfies TermSpec;
