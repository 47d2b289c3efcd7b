/** Settings of the group "objective": the policy loss. */
import { choice, flag, float, inGroup, int, oneOf } from "../setting.ts";

export const OBJECTIVE_SETTINGS = inGroup("objective", {
  objective: oneOf("Formula", "grpo", {
    choices: [choice("grpo", "GRPO with clipped ratio"), choice("notes", "Reference ratio (design notes)")],
    help: "The reference-ratio formula uses the ratio against the reference and KL as (reference − policy); it is kept for comparison",
  }),
  lossType: oneOf("Loss type", "grpo", {
    trl: "loss_type",
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
  importanceLevel: oneOf("Ratio level", "token", {
    trl: "importance_sampling_level",
    choices: [choice("token", "Per token"), choice("sequence", "Per sequence (GSPO)")],
    help: "Computes one ratio per token or one per rollout",
  }),
  epsilonLow: float("Clip ε low", 0.2, [0, 0.99, 0.01], {
    trl: "epsilon",
    help: "Clips ratios below 1 − ε when the advantage is negative",
  }),
  epsilonHigh: float("Clip ε high", 0.2, [0, 10, 0.01], {
    trl: "epsilon_high",
    help: "Clips ratios above 1 + ε when the advantage is positive. With cispo it is the largest weight; 5 is usual there",
  }),
  delta: float("Two-sided clip δ", 0, [0, 100, 0.1], {
    trl: "delta",
    help: "Upper limit of the unclipped ratio, above 1; 0 is off",
  }),
  beta: float("KL weight β", 0.04, [0, 10, 0.01], {
    trl: "beta",
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
    choices: [choice("start", "Frozen start of the run"), choice("ema", "EMA partner")],
    help: "Weights to which the KL term pulls the policy",
  }),
  iterations: int("Passes per batch μ", 1, [1, 8], {
    trl: "num_iterations",
    help: "Optimiser passes over one set of rollouts. Above 1, the ratio's denominator is the stored sampling log-probability",
  }),
  scaleRewards: oneOf("Scale rewards", "group", {
    trl: "scale_rewards",
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
  rewardAggregation: oneOf("Combine rewards", "sum_then_normalize", {
    trl: "multi_objective_aggregation",
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
  maskTruncated: flag("Mask truncated captions", false, {
    trl: "mask_truncated_completions",
    help: "Excludes rollouts that reach the length limit from the loss",
  }),
});
