/** Settings of the group "objective": the policy loss. */
import { choice, flag, float, inGroup, int, oneOf } from "../setting.ts";

export const OBJECTIVE_SETTINGS = inGroup("objective", {
  objective: oneOf("Formula", "grpo", {
    choices: [choice("grpo", "GRPO with clipped ratio"), choice("notes", "Reference ratio (design notes)")],
    help: "The reference-ratio formula uses the ratio against the reference and KL as (reference − policy); it is kept for comparison",
  }),
  lossType: oneOf("Loss type", "grpo", {
    trl: true,
    choices: [
      choice("grpo", "grpo: mean per row"),
      choice("bnpo", "bnpo: token mean"),
      choice("dr_grpo", "dr_grpo: fixed length"),
      choice("dapo", "dapo: tokens of the batch"),
      choice("cispo", "cispo: clipped weights"),
      choice("sapo", "sapo: soft gate"),
      choice("luspo", "luspo: length-weighted"),
      choice("vespo", "vespo: variational weights"),
    ],
    help: "How token losses are computed and averaged",
  }),
  importanceSamplingLevel: oneOf("Ratio level", "token", {
    trl: true,
    choices: [choice("token", "Per token"), choice("sequence", "Per sequence (GSPO)")],
    help: "Computes one ratio per token or one per rollout",
  }),
  epsilonLow: float("Clip ε low", 0.2, [0, 0.99, 0.01], {
    healthy: [0.1, 0.3],
    trl: "epsilon",
    help: "Clips ratios below 1 − ε when the advantage is negative",
  }),
  epsilonHigh: float("Clip ε high", 0.2, [0, 10, 0.01], {
    healthy: [0.1, 0.3],
    trl: true,
    help: "Clips ratios above 1 + ε when the advantage is positive. With cispo it is the largest weight; 5 is usual there",
  }),
  delta: float("Two-sided clip δ", 0, [0, 100, 0.1], {
    trl: true,
    help: "Upper limit of the unclipped ratio, above 1; 0 is off",
  }),
  beta: float("KL weight β", 0.04, [0, 10, 0.01], {
    healthy: [0, 0.2],
    trl: true,
    help: "Weight of the KL to the reference; 0 skips the reference pass",
    main: true,
  }),
  klEstimator: oneOf("KL estimator", "k3", {
    choices: [choice("k3", "k3: exp(q) − q − 1"), choice("k2", "k2: q² / 2"), choice("k1", "k1: −q")],
    help: "k3 is the usual choice. As a loss, k1 has no gradient in expectation",
  }),
  klClamp: flag("Clamp KL", true, {
    help: "Limits log-ratios to ±20 and the estimate to 10, so that one token cannot overflow",
  }),
  reference: oneOf("Reference", "start", {
    choices: [choice("start", "Frozen start of the run"), choice("ema", "The partner, a moving average")],
    help: "Weights to which the KL term pulls the policy",
  }),
  numIterations: int("Passes per batch μ", 1, [1, 8], {
    trl: true,
    help: "Iterations over one set of rollouts. From the second on, the ratio's denominator is the log-probability that the first computed",
  }),
  scaleRewards: oneOf("Scale rewards", "group", {
    trl: true,
    choices: [
      choice("group", "By the standard deviation of the group"),
      choice("batch", "By the standard deviation of the batch"),
      choice("none", "Centre only"),
    ],
    help: "Divisor of the advantages",
  }),
  advantageBaseline: oneOf("Baseline", "mean", {
    choices: [choice("mean", "Mean of the group"), choice("leave-one-out", "Mean of the other rollouts (RLOO)")],
    help: "Value subtracted from each reward; with leave-one-out, advantages are unbiased and G / (G − 1) times larger",
  }),
  multiObjectiveAggregation: oneOf("Combine rewards", "sum_then_normalize", {
    trl: true,
    choices: [
      choice("sum_then_normalize", "Sum, then normalise"),
      choice("normalize_then_sum", "Normalise each term, then sum (GDPO)"),
      choice("rank_then_sum", "Rank each term in its group, then sum"),
    ],
    help: "GDPO normalises each term in its group and the sum over the batch, so that no term outweighs another. Ranks replace each term by its place in the group, from 0 to 1, so that neither its unit nor an outlier counts",
  }),
  advantageEps: float("Advantage ε", 1e-4, [0, 1, 1e-4], {
    help: "Added to the standard deviation that divides advantages. Groups with equal rewards always give advantage 0",
  }),
  captionWordsMin: int("Fewest words", 0, [0, 1000], {
    unit: "words",
    help: "A sampled caption with fewer words has advantage 0, whatever its reward; it still counts in its group's mean",
  }),
  captionWordsMax: int("Most words", 0, [0, 1000], {
    unit: "words",
    help: "A sampled caption with more words has advantage 0, whatever its reward; it still counts in its group's mean. 0 sets no limit",
  }),
  maskTruncatedCompletions: flag("Mask truncated captions", false, {
    trl: true,
    help: "Excludes rollouts that reach the length limit from the loss",
  }),
});

/** Settings of the group "objective" that change the loss or its reference; all are off by default. */
const vespo = (label: string, standard: number, help: string) =>
  float(label, standard, [0, 10, 0.1], { trl: true, help });

export const LOSS_OPTION_SETTINGS = inGroup("objective", {
  entropyCoef: float("Entropy bonus", 0, [0, 1, 0.001], {
    trl: true,
    help: "Weight of the mean entropy per action, subtracted from the loss; raise it when captions collapse to one. With adaptive entropy it is the initial value",
  }),
  useAdaptiveEntropy: flag("Adaptive entropy", false, {
    trl: true,
    help: "Raises each loop's entropy bonus after an update whose entropy was at or below the target and lowers it otherwise; the bonus acts only while entropy is at or below the target (Skywork-OR1)",
  }),
  entropyTarget: float("Entropy target", 0.2, [0, 100, 0.1], {
    unit: "nats",
    trl: true,
    help: "Mean entropy per action that adaptive entropy keeps; choose a value near the entropy of the first steps",
  }),
  entropyCoefDelta: float("Entropy step", 0.005, [0, 1, 0.001], {
    trl: true,
    help: "How much adaptive entropy changes the bonus after each update",
  }),
  entropyCoefMin: float("Entropy bonus, minimum", 0, [0, 1, 0.001], {
    trl: true,
    help: "Lower bound of the adaptive entropy bonus",
  }),
  entropyCoefMax: float("Entropy bonus, maximum", 1, [0, 1, 0.01], {
    trl: true,
    help: "Upper bound of the adaptive entropy bonus",
  }),
  topEntropyQuantile: float("Top-entropy share", 1, [0, 1, 0.05], {
    trl: true,
    help: "Share of a group's actions, highest entropy first, that keep their policy term; 1 keeps all, the paper uses 0.2. The KL term applies to all actions",
  }),
  offPolicyMaskThreshold: float("Off-policy mask", 0, [0, 100, 0.1], {
    unit: "nats",
    trl: true,
    help: "Rollouts with a negative advantage lose their policy term if their mean of log π_old − log π exceeds this value; 0 is off",
  }),
  useBiasCorrectionKl: flag("Bias-corrected KL", false, {
    trl: true,
    help: "Multiplies the KL term by the importance ratio, so that its gradient is that of the reverse KL (DeepSeek-V3.2)",
  }),
  sapoTemperaturePos: float("sapo temperature, A > 0", 1, [0.01, 20, 0.05], {
    trl: true,
    help: "Steepness of sapo's gate for actions with a positive advantage",
  }),
  sapoTemperatureNeg: float("sapo temperature, A ≤ 0", 1.05, [0.01, 20, 0.05], {
    trl: true,
    help: "Steepness of sapo's gate for all other actions; a higher value dampens them sooner",
  }),
  vespoKPos: vespo("vespo k, A ≥ 0", 2, "How strongly vespo dampens ratios below 1"),
  vespoLambdaPos: vespo("vespo λ, A ≥ 0", 3, "How strongly vespo dampens ratios above 1"),
  vespoKNeg: vespo("vespo k, A < 0", 3, "How strongly vespo dampens ratios below 1 for negative advantages"),
  vespoLambdaNeg: vespo("vespo λ, A < 0", 2, "How strongly vespo dampens ratios above 1 for negative advantages"),
  syncRefModel: flag("Synchronise reference", false, {
    help: "Mixes the policy into the frozen reference every few updates (TR-DPO); has no effect on the EMA reference",
  }),
  refModelMixupAlpha: float("Reference mix α", 0.6, [0, 1, 0.05], {
    trl: true,
    help: "Reference ← α · policy + (1 − α) · reference",
  }),
  refModelSyncSteps: int("Synchronise every", 512, [1, 100000], {
    unit: "updates",
    trl: true,
    help: "Updates between two synchronisations of the reference",
  }),
});

/** Settings of the group "sampling" of rollouts. */
export const SAMPLING_SETTINGS = inGroup("sampling", {
  numGenerations: int("Group size G", 4, [2, 64], {
    healthy: [4, 8],
    unit: "rollouts",
    trl: true,
    help: "Rollouts per prompt. Use 4 or more: with 2, every advantage is ±0.71, for large and small differences in reward; only those near Advantage ε give less",
    main: true,
  }),
  temperature: float("Temperature", 1, [0.05, 5, 0.05], {
    healthy: [0.9, 1],
    trl: true,
    help: "Divides the logits in sampling and in log-probabilities. Must be above 0, because greedy rollouts are all equal",
    main: true,
  }),
  maxCompletionLength: int("Caption length", 24, [1, 1024], {
    unit: "tokens",
    trl: true,
    help: "Maximum caption length. A caption that reaches it without an end token is marked as truncated",
    main: true,
  }),
  topK: int("Top-k", 0, [0, 1000], {
    trl: true,
    help: "Samples from the k most likely tokens; 0 is off. Use 0 to stay on-policy",
  }),
  topP: float("Top-p", 1, [0.01, 1, 0.01], {
    trl: true,
    help: "Samples from the smallest set of tokens with this total probability; 1 is off",
  }),
  minP: float("Min-p", 0, [0, 1, 0.01], {
    trl: true,
    help: "Drops tokens below this share of the most likely token's probability; 0 is off",
  }),
  repetitionPenalty: float("Repetition penalty", 1, [0.1, 5, 0.05], {
    trl: true,
    help: "Divides positive and multiplies negative logits of tokens that occurred before; 1 is off",
  }),
  logitGuard: float("Logit guard", 30, [1, 10000], {
    help: "Clips logits to ± this value before temperature, in sampling and in log-probabilities",
  }),
  partnerMaxTokens: int("Partner caption length", 24, [1, 1024], {
    unit: "tokens",
    help: "Maximum length of the caption that the partner writes greedily in loop 2",
  }),
});
