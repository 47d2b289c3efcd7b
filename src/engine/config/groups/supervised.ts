/** Settings of the group "supervised": losses of the mode that imitates the data. */
import type { Setting } from "../setting.ts";

export const SUPERVISED_SETTINGS = {
  sftBceWeight: {
    group: "supervised",
    kind: "float",
    label: "Mask cross-entropy weight",
    default: 2,
    min: 0,
    max: 100,
    step: 0.5,
    help: "Factor of the mask's binary cross-entropy beside the caption's cross-entropy, which counts 1",
  },
  sftDiceWeight: {
    group: "supervised",
    kind: "float",
    label: "Dice weight",
    default: 0.5,
    min: 0,
    max: 100,
    step: 0.1,
    help: "Factor of the mask's Dice loss",
  },
  sftPoints: {
    group: "supervised",
    kind: "int",
    label: "Points per mask",
    unit: "points",
    default: 12544,
    min: 16,
    max: 65536,
    step: 16,
    help: "Masks with more pixels than this are compared at so many points, mostly where they are least certain",
    advanced: true,
  },
} as const satisfies Record<string, Setting>;
