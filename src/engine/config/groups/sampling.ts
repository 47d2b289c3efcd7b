/** Settings of the group "sampling" of rollouts. */
import { float, inGroup, int } from "../setting.ts";

export const SAMPLING_SETTINGS = inGroup("sampling", {
  groupSize: int("Group size G", 4, [2, 64], {
    unit: "rollouts",
    trl: "num_generations",
    help: "Rollouts per prompt. Use 4 or more: with 2, every advantage is ±0.71, whatever the difference in reward",
    main: true,
  }),
  temperature: float("Temperature", 1, [0.05, 5, 0.05], {
    trl: "temperature",
    help: "Divides the logits in sampling and in log-probabilities. Must be above 0, because greedy rollouts are all equal",
    main: true,
  }),
  maxNewTokens: int("Caption length", 24, [1, 1024], {
    unit: "tokens",
    trl: "max_completion_length",
    help: "Maximum caption length. A caption that reaches it without an end token is marked as truncated",
    main: true,
  }),
  topK: int("Top-k", 0, [0, 1000], {
    trl: "top_k",
    help: "Samples from the k most likely tokens; 0 is off. Use 0 to stay on-policy",
  }),
  topP: float("Top-p", 1, [0.01, 1, 0.01], {
    trl: "top_p",
    help: "Samples from the smallest set of tokens with this total probability; 1 is off",
  }),
  minP: float("Min-p", 0, [0, 1, 0.01], {
    trl: "min_p",
    help: "Drops tokens below this share of the most likely token's probability; 0 is off",
  }),
  repetitionPenalty: float("Repetition penalty", 1, [0.1, 5, 0.05], {
    trl: "repetition_penalty",
    help: "Divides positive and multiplies negative logits of tokens that occurred before; 1 is off",
  }),
  logitGuard: float("Logit guard", 30, [1, 10000], {
    help: "Clips logits to ± this value before temperature, in sampling and in log-probabilities",
  }),
  partnerMaxTokens: int("Partner caption length", 24, [1, 1024], {
    unit: "tokens",
    help: "Maximum length of caption′, which the partner writes greedily in loop 2",
  }),
});
