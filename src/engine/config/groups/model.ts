/** Settings of the group "model": adapters and cost of a picture. */
import { choice, type Setting } from "../setting.ts";

export const MODEL_SETTINGS = {
  loraRank: {
    group: "model",
    kind: "int",
    label: "LoRA rank r",
    default: 128,
    min: 1,
    max: 512,
    step: 1,
    trl: "lora_r",
    help: "Rank of the adapters on every linear layer of the language model",
  },
  loraAlpha: {
    group: "model",
    kind: "float",
    label: "LoRA alpha",
    default: 256,
    min: 0.01,
    max: 4096,
    step: 1,
    trl: "lora_alpha",
    help: "The adapter branch is scaled by alpha / r",
  },
  maxTiles: {
    group: "model",
    kind: "int",
    label: "Tiles at most",
    default: 12,
    min: 1,
    max: 12,
    step: 1,
    help: "Upper limit of image tiles for the vision tower; the strongest control of cost on photographs",
  },
  recompute: {
    group: "model",
    kind: "flag",
    label: "Recompute activations",
    default: false,
    trl: "gradient_checkpointing",
    help: "Keeps only what enters each block of the language model and runs the block again in the backward pass: less memory, about a third more time",
  },
  smallRegions: {
    group: "model",
    kind: "choice",
    label: "Tiny regions",
    default: "force",
    choices: [choice("force", "Use the best-covered cell"), choice("skip", "Skip the row")],
    help: "What happens when a mask covers no cell of the visual-token grid",
    advanced: true,
  },
} as const satisfies Record<string, Setting>;
