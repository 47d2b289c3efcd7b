/** Settings of the group "reward": how the values of terms are computed. The weights are in reward-weights.ts. */
import { choice, flag, float, inGroup, int, oneOf, text } from "../setting.ts";

/** Of settings that change the judge's verdict; the others change when and how it is asked. */
const VERDICT = { terms: ["judge", "utility"] } as const;

export const REWARD_SETTINGS = inGroup("reward", {
  iouShape: oneOf("IoU form", "plain", {
    choices: [choice("plain", "IoU"), choice("squared", "IoU squared"), choice("tiered", "Tiers at 0.5, 0.7, 0.9")],
    terms: ["iou"],
    help: "Conversion of IoU to the reward term",
  }),
  bandSlope: float("Banded IoU: slope", 2, [0.1, 100, 0.1], {
    terms: ["banded"],
    help: "a in a · (IoU − b), the reward term banded",
  }),
  bandCentre: float("Banded IoU: centre", 0.5, [0, 1, 0.05], {
    terms: ["banded"],
    help: "b in a · (IoU − b): the overlap that earns 0",
  }),
  bandLow: float("Banded IoU: lowest", -1, [-100, 0, 0.1], {
    terms: ["banded"],
    help: "Lower end of the band, at most 0",
  }),
  bandHigh: float("Banded IoU: highest", 1, [0, 100, 0.1], {
    terms: ["banded"],
    help: "Upper end of the band, at least 0",
  }),
  emptyPairReward: float("Both masks empty", 1, [0, 1], {
    terms: ["iou", "banded"],
    help: "Reward when the given and the predicted mask are both empty",
  }),
  likelihoodJudge: oneOf("Likelihood captioner", "partner", {
    choices: [
      choice("partner", "The partner"),
      choice("start", "The start of the run"),
      choice("adapter", "Another checkpoint, opened as an adapter"),
    ],
    terms: ["likelihood", "contrast"],
    help: "Model that computes the terms likelihood and contrast. The partner follows the policy; the start and another checkpoint stay fixed",
  }),
  shuffleRewards: flag("Shuffle rewards", false, {
    free: true,
    help: "Control experiment: shuffles the rewards within each group and flips the sign of its advantages at random, so that the policy cannot learn from them",
  }),
  missingVerdict: oneOf("Missing judge score", "drop", {
    choices: [
      choice("drop", "Leave the rollout out"),
      choice("group", "Skip its group"),
      choice("meteor", "Use METEOR for the whole group"),
      choice("pause", "Pause the run"),
    ],
    ...VERDICT,
    help: "What to do when a judge request fails. A missing score never counts as 0",
  }),
  lengthRatio: float("Free length", 1.5, [0.1, 20, 0.1], {
    unit: "× reference",
    terms: ["length"],
    help: "Captions up to this multiple of the reference length cost nothing. The penalty reaches 1 one multiple later",
  }),
  repetitionGram: int("Repetition n-gram", 3, [1, 10], {
    unit: "words",
    terms: ["repetition"],
    help: "The repetition penalty is the share of word sequences of this length that occurred earlier in the caption",
  }),
  leakWords: text(
    "Leak words",
    "left, right, upper, lower, top left, top right, bottom left, bottom right, corner, centre, center, middle, leftmost, rightmost, topmost, bottommost, percent, pixel, pixels",
    2000,
    {
      terms: ["leak"],
      help: "Comma-separated words and phrases that give away the position instead of describing the object",
    },
  ),
  userReward: text("Custom reward", "", 20_000, {
    ownControl: true,
    terms: ["user"],
    help: "TypeScript or JavaScript source with a function reward(rollout) that returns a number. Edit it on the Rewards screen",
  }),
  userRewardHash: text("Custom reward: hash", "", 64, {
    ownControl: true,
    free: true,
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

/** Settings of the judge: server, prompts, limits. The key is not a setting and is not stored with them. */
export const JUDGE_SETTINGS = inGroup("reward", {
  judge: oneOf("Judge", "off", {
    choices: [
      choice("off", "Off: METEOR only"),
      choice("questions", "Question judge: questions generated from the reference"),
      choice("dlc", "DLC-style: prepared questions"),
    ],
    ...VERDICT,
    help: "Kind of language-model judge that scores captions; its score is the reward term “judge”",
  }),
  judgeUrl: text("Judge address", "", 2000, {
    ...VERDICT,
    help: "Address of an OpenAI-compatible server, for example http://localhost:11434/v1. It receives the captions. Do not include a key",
    ownControl: true,
  }),
  judgeModel: text("Judge model", "", 300, {
    ...VERDICT,
    help: "Name of the model. If empty, the first model that the server lists is used",
  }),
  judgeRange: oneOf("Judge score range", "raw", {
    choices: [
      choice("raw", "−1 to 1, as scored"),
      choice("clamp", "0 to 1, negative as 0"),
      choice("rescale", "0 to 1, shifted and halved"),
    ],
    ...VERDICT,
    help: "Conversion of the raw question score, which is between −1 and 1",
  }),
  judgePositives: int("Positive questions", 4, [1, 12], {
    ...VERDICT,
    help: "Maximum number of questions about facts in the reference",
  }),
  judgeNegatives: int("Negative questions", 2, [0, 6], {
    ...VERDICT,
    help: "Maximum number of questions about facts that are not in the reference. Keep it low: a caption that says nothing passes them all",
  }),
  judgeMaxTokens: int("Maximum reply length", 800, [32, 32_768, 32], {
    unit: "tokens",
    help: "Raise it for reasoning models, which write their reasoning before the answer",
  }),
  judgeParallel: int("Concurrent requests", 4, [1, 64], {
    help: "Maximum concurrent judge requests",
  }),
  judgeTimeout: float("Request timeout", 30, [0.1, 3600, 5], {
    unit: "s",
    help: "A request that takes longer is cancelled and repeated once",
  }),
  judgeRetries: int("Retries", 3, [0, 10], {
    help: "Number of retries after a transient error (429, 5xx, connection lost), with growing delays",
  }),
  judgeMaxCalls: int("Request budget", 10_000, [0, 10_000_000, 100], {
    help: "Maximum requests per run, retries included; 0 sets no limit. A resumed run counts what it spent before",
  }),
  judgeMaxCost: float("Cost budget", 0, [0, 1_000_000], {
    help: "Maximum cost per run, in the currency of the two prices; 0 sets no limit. A resumed run counts what it spent before",
  }),
  judgePromptPrice: float("Price per million prompt tokens", 0, [0, 100_000, 0.1], {
    help: "Price that the provider charges; it is used for the cost budget",
  }),
  judgeReplyPrice: float("Price per million reply tokens", 0, [0, 100_000, 0.1], {
    help: "Price that the provider charges; it is used for the cost budget",
  }),
  judgeQuestionsPrompt: text("Question prompt", "", 20_000, {
    ...VERDICT,
    help: "Prompt that generates the questions. It must contain {{reference}}; if it is empty, the built-in prompt is used",
    ownControl: true,
  }),
  judgeAnswersPrompt: text("Answer prompt", "", 20_000, {
    ...VERDICT,
    help: "Prompt that answers the questions. It must contain {{caption}} and {{questions}}; if it is empty, the built-in prompt is used",
    ownControl: true,
  }),
  judgeDlcPrompt: text("DLC prompt", "", 20_000, {
    ...VERDICT,
    help: "Prompt of one prepared question. It must contain {{caption}}, {{question}} and {{choices}}; if it is empty, the built-in prompt is used",
    ownControl: true,
  }),
  judgeWritten: text("Prepared questions", "", 400_000, {
    ...VERDICT,
    help: "JSON list of {reference, questions} for the DLC-style judge",
    ownControl: true,
  }),
});
