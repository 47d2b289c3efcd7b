/** Settings of the group "data": which rows and how many. */
import type { Setting } from "../setting.ts";

export const DATA_SETTINGS = {
  promptsPerStep: {
    group: "data",
    kind: "int",
    label: "Prompts per loop",
    default: 1,
    min: 1,
    max: 64,
    step: 1,
    help: "Rows each loop draws per micro-step; every row becomes one group of rollouts",
  },
  accumulation: {
    group: "data",
    kind: "int",
    label: "Gradient accumulation",
    unit: "micro-steps",
    default: 1,
    min: 1,
    max: 64,
    step: 1,
    trl: "gradient_accumulation_steps",
    help: "Micro-steps whose gradients are summed before one optimiser step",
  },
  heldOutShare: {
    group: "data",
    kind: "float",
    label: "Held-out share",
    default: 0.1,
    min: 0,
    max: 0.5,
    step: 0.01,
    help: "Share of the images kept out of training; the split is by image, so no picture is on both sides",
  },
  maxRows: {
    group: "data",
    kind: "int",
    label: "Rows used",
    default: 0,
    min: 0,
    max: 10000000,
    step: 1,
    help: "Only the first rows of the shards; 0 uses all",
    advanced: true,
  },
} as const satisfies Record<string, Setting>;
