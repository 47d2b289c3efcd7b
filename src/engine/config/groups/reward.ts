/** Settings of the group "reward": how the values of terms are computed. The weights are in reward-weights.ts. */
import { choice, flag, float, inGroup, int, oneOf, text } from "../setting.ts";

export const REWARD_SETTINGS = inGroup("reward", {
  iouShape: oneOf("IoU form", "plain", {
    choices: [choice("plain", "IoU"), choice("squared", "IoU squared"), choice("tiered", "Tiers at 0.5, 0.7, 0.9")],
    help: "Conversion of IoU to the reward term",
  }),
  bandSlope: float("Banded IoU: slope", 2, [0.1, 100, 0.1], {
    help: "a in a · (IoU − b), the reward term banded",
  }),
  bandCentre: float("Banded IoU: centre", 0.5, [0, 1, 0.05], {
    help: "b in a · (IoU − b): the overlap that earns 0",
  }),
  bandLow: float("Banded IoU: lowest", -1, [-100, 0, 0.1], {
    help: "Lower end of the band, at most 0",
  }),
  bandHigh: float("Banded IoU: highest", 1, [0, 100, 0.1], {
    help: "Upper end of the band, at least 0",
  }),
  emptyPairReward: float("Both masks empty", 1, [0, 1], {
    help: "Reward when the given and the predicted mask are both empty",
  }),
  likelihoodJudge: oneOf("Likelihood captioner", "partner", {
    choices: [
      choice("partner", "The partner"),
      choice("start", "The start of the run"),
      choice("adapter", "Another checkpoint, opened as an adapter"),
    ],
    help: "Model that computes the terms likelihood and contrast. The partner follows the policy; the start and another checkpoint stay fixed",
  }),
  shuffleRewards: flag("Shuffle rewards", false, {
    help: "Control experiment: shuffles the rewards within each group and flips the sign of its advantages at random, so that the policy cannot learn from them",
  }),
  missingVerdict: oneOf("Missing judge score", "drop", {
    choices: [
      choice("drop", "Leave the rollout out"),
      choice("group", "Skip its group"),
      choice("meteor", "Use METEOR for the whole group"),
      choice("pause", "Pause the run"),
    ],
    help: "What to do when a judge request fails. A missing score never counts as 0",
  }),
  lengthRatio: float("Free length", 1.5, [0.1, 20, 0.1], {
    unit: "× reference",
    help: "Captions up to this multiple of the reference length cost nothing. The penalty reaches 1 one multiple later",
  }),
  repetitionGram: int("Repetition n-gram", 3, [1, 10], {
    unit: "words",
    help: "The repetition penalty is the share of word sequences of this length that occurred earlier in the caption",
  }),
  leakWords: text(
    "Leak words",
    "left, right, upper, lower, top left, top right, bottom left, bottom right, corner, centre, center, middle, leftmost, rightmost, topmost, bottommost, percent, pixel, pixels",
    2000,
    {
      help: "Comma-separated words and phrases that give away the position instead of describing the object",
    },
  ),
  userReward: text("Custom reward", "", 20_000, {
    ownControl: true,
    help: "TypeScript or JavaScript source with a function reward(rollout) that returns a number. Edit it on the Rewards screen",
  }),
  userRewardHash: text("Custom reward: hash", "", 64, {
    ownControl: true,
    help: "SHA-256 of the custom reward's source. A run does not start when the two differ",
  }),
  userRewardMs: int("Custom reward: time limit", 1000, [1, 10_000, 10], {
    unit: "ms per rollout",
    help: "A call that takes longer is stopped, and the run pauses",
  }),
  userRewardMb: int("Custom reward: memory limit", 64, [2, 512], {
    unit: "MiB",
    help: "A call that allocates more is stopped, and the run pauses",
  }),
});
