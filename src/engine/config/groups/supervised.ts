/** Settings of the group "supervised": losses of the supervised mode. */
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
    help: "Weight of the mask's binary cross-entropy. The caption's cross-entropy has weight 1",
  },
  sftDiceWeight: {
    group: "supervised",
    kind: "float",
    label: "Dice weight",
    default: 0.5,
    min: 0,
    max: 100,
    step: 0.1,
    help: "Weight of the mask's Dice loss",
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
    help: "Number of points at which larger masks are compared. Most points are where the prediction is least certain",
    advanced: true,
  },
} as const satisfies Record<string, Setting>;
