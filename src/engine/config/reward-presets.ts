/** Named reward matrices: those of the design notes, and one for sparse rewards. */
import { weightKeys } from "./groups/reward-weights.ts";
import type { LabConfig } from "./table.ts";

export interface RewardPreset {
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly values: Partial<LabConfig>;
}

/** Of both loops; an optional loop keeps its weights. */
const NOTHING: Partial<LabConfig> = Object.fromEntries(weightKeys().map((key) => [key, 0]));

export const REWARD_PRESETS: readonly RewardPreset[] = [
  {
    name: "000",
    title: "Notes 000",
    summary: "Loop 1 IoU, loop 2 ¼ METEOR + ¾ judge",
    values: { ...NOTHING, loop1Iou: 1, loop2Meteor: 0.25, loop2Judge: 0.75 },
  },
  {
    name: "002",
    title: "Notes 002",
    summary: "Loop 1 IoU, loop 2 METEOR alone",
    values: { ...NOTHING, loop1Iou: 1, loop2Meteor: 1 },
  },
  {
    name: "003",
    title: "Notes 003",
    summary: "Loop 1 IoU + ¼ METEOR + ¾ judge, loop 2 METEOR",
    values: { ...NOTHING, loop1Iou: 1, loop1Meteor: 0.25, loop1Judge: 0.75, loop2Meteor: 1 },
  },
  {
    name: "shaped",
    title: "Shaped",
    summary: "Loop 1 IoU + 0.2 confidence + 0.1 box, costs for length, repetition and leaks",
    values: {
      ...NOTHING,
      loop1Iou: 1,
      loop1Confidence: 0.2,
      loop1Box: 0.1,
      loop1LengthCost: 0.1,
      loop1RepetitionCost: 0.2,
      loop1LeakCost: 0.2,
      loop2Meteor: 0.25,
      loop2Judge: 0.75,
      loop2LengthCost: 0.1,
      loop2RepetitionCost: 0.2,
    },
  },
];
