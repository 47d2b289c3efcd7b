/** Settings of the judge: server, prompts, limits. The key is not a setting and is not stored with them. */
import { choice, float, inGroup, int, oneOf, text } from "../setting.ts";

export const JUDGE_SETTINGS = inGroup("reward", {
  judge: oneOf("Judge", "off", {
    choices: [
      choice("off", "Off: METEOR only"),
      choice("questions", "Question judge: questions generated from the reference"),
      choice("dlc", "DLC-style: prepared questions"),
    ],
    help: "Kind of language-model judge that scores captions; its score is the reward term “judge”",
  }),
  judgeUrl: text("Judge address", "", 2000, {
    help: "Address of an OpenAI-compatible server, for example http://localhost:11434/v1. It receives the captions. Do not include a key",
    ownControl: true,
  }),
  judgeModel: text("Judge model", "", 300, {
    help: "Name of the model. If empty, the first model that the server lists is used",
  }),
  judgeRange: oneOf("Judge score range", "raw", {
    choices: [
      choice("raw", "−1 to 1, as scored"),
      choice("clamp", "0 to 1, negative as 0"),
      choice("rescale", "0 to 1, shifted and halved"),
    ],
    help: "Conversion of the raw question score, which is between −1 and 1",
  }),
  judgePositives: int("Positive questions", 4, [1, 12], {
    help: "Maximum number of questions about facts in the reference",
  }),
  judgeNegatives: int("Negative questions", 2, [0, 6], {
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
    help: "Prompt that generates the questions. It must contain {{reference}}; if it is empty, the built-in prompt is used",
    ownControl: true,
  }),
  judgeAnswersPrompt: text("Answer prompt", "", 20_000, {
    help: "Prompt that answers the questions. It must contain {{caption}} and {{questions}}; if it is empty, the built-in prompt is used",
    ownControl: true,
  }),
  judgeDlcPrompt: text("DLC prompt", "", 20_000, {
    help: "Prompt of one prepared question. It must contain {{caption}}, {{question}} and {{choices}}; if it is empty, the built-in prompt is used",
    ownControl: true,
  }),
  judgeWritten: text("Prepared questions", "", 400_000, {
    help: "JSON list of {reference, questions} for the DLC-style judge",
    ownControl: true,
  }),
});
