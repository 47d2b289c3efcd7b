/** Settings of the group "reward": how outcomes become rewards. */
import { choice, type Setting } from "../setting.ts";

export const REWARD_SETTINGS = {
  iouShape: {
    group: "reward",
    kind: "choice",
    label: "IoU form",
    default: "plain",
    choices: [choice("plain", "IoU"), choice("squared", "IoU squared"), choice("tiered", "Tiers at 0.5, 0.7, 0.9")],
    help: "How loop 1 turns overlap into reward",
  },
  emptyPairReward: {
    group: "reward",
    kind: "float",
    label: "Both masks empty",
    default: 1,
    min: 0,
    max: 1,
    step: 1,
    help: "Reward when given and predicted mask are both empty",
    advanced: true,
  },
  shuffleRewards: {
    group: "reward",
    kind: "flag",
    label: "Shuffle rewards",
    default: false,
    help: "Control: permutes the rewards inside every group, so that nothing can be learnt from them",
    advanced: true,
  },
} as const satisfies Record<string, Setting>;
