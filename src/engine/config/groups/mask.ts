/** Settings of the group "mask": where loop 2's randomness enters. */
import { choice, type Setting } from "../setting.ts";

export const MASK_SETTINGS = {
  maskPolicy: {
    group: "mask",
    kind: "choice",
    label: "Mask policy",
    default: "candidates",
    choices: [
      choice("candidates", "Choice among SAM2's candidates"),
      choice("field", "Gaussian field on a coarse grid"),
    ],
    help: "Where loop 2's randomness enters; only modules before that point learn",
  },
  candidateTemperature: {
    group: "mask",
    kind: "float",
    label: "Candidate temperature",
    default: 0.1,
    min: 0.001,
    max: 10,
    step: 0.01,
    help: "Softmax over predicted IoU divided by this; lower is greedier",
  },
  fieldGrid: {
    group: "mask",
    kind: "int",
    label: "Field grid",
    unit: "cells a side",
    default: 8,
    min: 1,
    max: 64,
    step: 1,
    help: "Cells of the coarse grid whose mean logits are perturbed",
  },
  fieldSigma: {
    group: "mask",
    kind: "float",
    label: "Field noise σ",
    default: 0.75,
    min: 0.01,
    max: 20,
    step: 0.05,
    help: "Noise in units of the mask logits' own standard deviation",
  },
} as const satisfies Record<string, Setting>;
