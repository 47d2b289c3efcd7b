/** Settings of the group "objective" that change the loss or its reference; all are off by default. */
import { flag, float, inGroup, int } from "../setting.ts";

const vespo = (label: string, standard: number, trl: string, help: string) =>
  float(label, standard, [0, 10, 0.1], { trl, help });

export const LOSS_OPTION_SETTINGS = inGroup("objective", {
  entropyCoefficient: float("Entropy bonus", 0, [0, 1, 0.001], {
    trl: "entropy_coef",
    help: "Weight of the mean entropy per action, subtracted from the loss; raise it when captions collapse to one. With adaptive entropy it is the initial value",
  }),
  adaptiveEntropy: flag("Adaptive entropy", false, {
    trl: "use_adaptive_entropy",
    help: "Raises each loop's entropy bonus after an update whose entropy was at or below the target and lowers it otherwise; the bonus acts only while entropy is at or below the target (Skywork-OR1)",
  }),
  entropyTarget: float("Entropy target", 0.2, [0, 100, 0.1], {
    unit: "nats",
    trl: "entropy_target",
    help: "Mean entropy per action that adaptive entropy keeps; choose a value near the entropy of the first steps",
  }),
  entropyStep: float("Entropy step", 0.005, [0, 1, 0.001], {
    trl: "entropy_coef_delta",
    help: "How much adaptive entropy changes the bonus after each update",
  }),
  entropyCoefficientMin: float("Entropy bonus, minimum", 0, [0, 1, 0.001], {
    trl: "entropy_coef_min",
    help: "Lower bound of the adaptive entropy bonus",
  }),
  entropyCoefficientMax: float("Entropy bonus, maximum", 1, [0, 1, 0.01], {
    trl: "entropy_coef_max",
    help: "Upper bound of the adaptive entropy bonus",
  }),
  topEntropyQuantile: float("Top-entropy share", 1, [0, 1, 0.05], {
    trl: "top_entropy_quantile",
    help: "Share of a group's actions, highest entropy first, that keep their policy term; 1 keeps all, the paper uses 0.2. The KL term applies to all actions",
  }),
  offPolicyThreshold: float("Off-policy mask", 0, [0, 100, 0.1], {
    unit: "nats",
    trl: "off_policy_mask_threshold",
    help: "Rollouts with a negative advantage lose their policy term if their mean of log π_old − log π exceeds this value; 0 is off",
  }),
  biasCorrectedKl: flag("Bias-corrected KL", false, {
    trl: "use_bias_correction_kl",
    help: "Multiplies the KL term by the importance ratio, so that its gradient is that of the reverse KL (DeepSeek-V3.2)",
  }),
  sapoTemperaturePositive: float("sapo temperature, A > 0", 1, [0.01, 20, 0.05], {
    trl: "sapo_temperature_pos",
    help: "Steepness of sapo's gate for actions with a positive advantage",
  }),
  sapoTemperatureNegative: float("sapo temperature, A ≤ 0", 1.05, [0.01, 20, 0.05], {
    trl: "sapo_temperature_neg",
    help: "Steepness of sapo's gate for all other actions; a higher value dampens them sooner",
  }),
  vespoKPositive: vespo("vespo k, A ≥ 0", 2, "vespo_k_pos", "How strongly vespo dampens ratios below 1"),
  vespoLambdaPositive: vespo("vespo λ, A ≥ 0", 3, "vespo_lambda_pos", "How strongly vespo dampens ratios above 1"),
  vespoKNegative: vespo(
    "vespo k, A < 0",
    3,
    "vespo_k_neg",
    "How strongly vespo dampens ratios below 1 for negative advantages",
  ),
  vespoLambdaNegative: vespo(
    "vespo λ, A < 0",
    2,
    "vespo_lambda_neg",
    "How strongly vespo dampens ratios above 1 for negative advantages",
  ),
  syncReference: flag("Synchronise reference", false, {
    help: "Mixes the policy into the frozen reference every few updates (TR-DPO); has no effect on the EMA reference",
  }),
  referenceMixup: float("Reference mix α", 0.6, [0, 1, 0.05], {
    trl: "ref_model_mixup_alpha",
    help: "Reference ← α · policy + (1 − α) · reference",
  }),
  referenceSyncSteps: int("Synchronise every", 512, [1, 100000], {
    unit: "updates",
    trl: "ref_model_sync_steps",
    help: "Updates between two synchronisations of the reference",
  }),
});
