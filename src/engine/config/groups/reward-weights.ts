/**
 * Settings of the group "reward": the matrix loop × term. A reward is the sum of weight · value over the terms of its
 * loop; costs are subtracted. rewards/composer/terms.ts defines the terms.
 */
import type { NumberSetting, Setting } from "../setting.ts";

function weight(label: string, preset: number, help: string, min = -10): NumberSetting {
  return { group: "reward", kind: "float", label, default: preset, min, max: 10, step: 0.05, help, home: "rewards" };
}

export const REWARD_WEIGHTS = {
  loop1Iou: weight("IoU, loop 1", 1, "IoU of the given and the predicted mask"),
  loop1Meteor: weight("METEOR, loop 1", 0, "METEOR of the generated caption against the caption of the row"),
  loop1Judge: weight("Judge, loop 1", 0, "Score of the judge. Without a judge, METEOR takes its weight"),
  loop1Confidence: weight("Mask confidence, loop 1", 0, "Mean probability inside the predicted mask"),
  loop1Box: weight("Box IoU, loop 1", 0, "IoU of the two bounding boxes"),
  loop1Centre: weight(
    "Centre, loop 1",
    0,
    "1 minus the distance of the two mask centres, divided by the picture's diagonal",
  ),
  loop1User: weight("Custom reward, loop 1", 0, "The function on the Rewards screen"),
  loop1LengthCost: weight("Length cost, loop 1", 0, "Penalty for words beyond the free length", 0),
  loop1RepetitionCost: weight("Repetition cost, loop 1", 0, "Penalty for repeated word sequences", 0),
  loop1LeakCost: weight("Leak cost, loop 1", 0, "Penalty when a leak word occurs", 0),
  loop2Iou: weight("IoU, loop 2", 0, "IoU of the given and the predicted mask"),
  loop2Meteor: weight("METEOR, loop 2", 0.25, "METEOR of the generated caption against the caption of the row"),
  loop2Judge: weight("Judge, loop 2", 0.75, "Score of the judge. Without a judge, METEOR takes its weight"),
  loop2Confidence: weight("Mask confidence, loop 2", 0, "Mean probability inside the predicted mask"),
  loop2Box: weight("Box IoU, loop 2", 0, "IoU of the two bounding boxes"),
  loop2Centre: weight(
    "Centre, loop 2",
    0,
    "1 minus the distance of the two mask centres, divided by the picture's diagonal",
  ),
  loop2User: weight("Custom reward, loop 2", 0, "The function on the Rewards screen"),
  loop2LengthCost: weight("Length cost, loop 2", 0, "Penalty for words beyond the free length", 0),
  loop2RepetitionCost: weight("Repetition cost, loop 2", 0, "Penalty for repeated word sequences", 0),
  loop2LeakCost: weight("Leak cost, loop 2", 0, "Penalty when a leak word occurs", 0),
} as const satisfies Record<string, Setting>;
