/**
 * Settings of the group "reward": the matrix loop × term. A reward is the sum of weight · value over the terms of its
 * loop; costs are taken away. What a term means is in rewards/composer/terms.ts.
 */
import type { NumberSetting, Setting } from "../setting.ts";

function weight(label: string, preset: number, help: string, min = -10): NumberSetting {
  return { group: "reward", kind: "float", label, default: preset, min, max: 10, step: 0.05, help, home: "rewards" };
}

export const REWARD_WEIGHTS = {
  loop1Iou: weight("IoU, loop 1", 1, "Overlap of given and predicted mask"),
  loop1Meteor: weight("METEOR, loop 1", 0, "METEOR of the generated caption against the data set's"),
  loop1Judge: weight("Judge, loop 1", 0, "Verdict of the judge; without one METEOR takes its weight"),
  loop1Confidence: weight(
    "Mask confidence, loop 1",
    0,
    "Mean probability inside the predicted mask (α·IoU + β·confidence)",
  ),
  loop1Box: weight("Box IoU, loop 1", 0, "Overlap of the two bounding boxes, an auxiliary term"),
  loop1Centre: weight(
    "Centre, loop 1",
    0,
    "1 minus the distance of the two centres over the picture's diagonal, an auxiliary term",
  ),
  loop1User: weight("Own reward, loop 1", 0, "The function written on the Rewards screen"),
  loop1LengthCost: weight("Length cost, loop 1", 0, "Taken away for words beyond the free length", 0),
  loop1RepetitionCost: weight("Repetition cost, loop 1", 0, "Taken away for repeated runs of words", 0),
  loop1LeakCost: weight("Leak cost, loop 1", 0, "Taken away when a leak word occurs", 0),
  loop2Iou: weight("IoU, loop 2", 0, "Overlap of given and predicted mask"),
  loop2Meteor: weight("METEOR, loop 2", 0.25, "METEOR of the generated caption against the data set's"),
  loop2Judge: weight("Judge, loop 2", 0.75, "Verdict of the judge; without one METEOR takes its weight"),
  loop2Confidence: weight(
    "Mask confidence, loop 2",
    0,
    "Mean probability inside the predicted mask (α·IoU + β·confidence)",
  ),
  loop2Box: weight("Box IoU, loop 2", 0, "Overlap of the two bounding boxes, an auxiliary term"),
  loop2Centre: weight(
    "Centre, loop 2",
    0,
    "1 minus the distance of the two centres over the picture's diagonal, an auxiliary term",
  ),
  loop2User: weight("Own reward, loop 2", 0, "The function written on the Rewards screen"),
  loop2LengthCost: weight("Length cost, loop 2", 0, "Taken away for words beyond the free length", 0),
  loop2RepetitionCost: weight("Repetition cost, loop 2", 0, "Taken away for repeated runs of words", 0),
  loop2LeakCost: weight("Leak cost, loop 2", 0, "Taken away when a leak word occurs", 0),
} as const satisfies Record<string, Setting>;
