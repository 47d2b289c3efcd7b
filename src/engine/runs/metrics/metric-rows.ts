/** One row of the table of metrics. */

export interface Metric {
  /** Logged name or pattern. */
  readonly name: string;
  /** One sentence without a full stop. */
  readonly meaning: string;
  /** Empty if the meaning is enough. */
  readonly formula: string;
  readonly unit: string;
  /** Values in a good run, and the meaning of a change; empty if there is nothing to watch. */
  readonly healthy: string;
  /** Digits after the point when shown. */
  readonly decimals: number;
  /** Name in the design notes, if different. */
  readonly alias?: string;
  /** Better direction, if there is one. */
  readonly better?: "up" | "down";
}

/** A row of the table. @param decimals digits after the point when shown */
export function row(
  name: string,
  meaning: string,
  formula: string,
  unit: string,
  healthy: string,
  decimals: number,
  more: Pick<Metric, "alias" | "better"> = {},
): Metric {
  return { name, meaning, formula, unit, healthy, decimals, ...more };
}

/** Unit of a share. */
export const SHARE = "share 0–1";
export const UP = { better: "up" } as const;
export const DOWN = { better: "down" } as const;

/** The whole step and the rewards of a loop. Rows with fixed names precede patterns that also match them. */
export const STEP_ROWS: readonly Metric[] = [
  // Whole step
  row("step", "Optimiser steps done", "", "steps", "", 0),
  row(
    "loss",
    "Total loss of the step",
    "Σ_K w_K · loss_K",
    "",
    "Starts near 0 and grows as β·KL. It does not measure progress; watch the rewards",
    5,
    { alias: "total_loss" },
  ),
  row(
    "grad_norm",
    "Global norm of the gradient before clipping",
    "√ Σ g²",
    "",
    "Stable within a factor of ten; 0 means that no group had spread",
    4,
  ),
  row(
    "grad_norm_clipped",
    "1 if the norm exceeded the limit and the gradient was scaled down",
    "1 if grad_norm > maxGradNorm",
    "0 or 1",
    "Occasionally 1. If it is always 1, the limit sets the step size instead of the learning rate",
    0,
  ),
  row(
    "grad_norm/<block>",
    "Norm of the gradient within one block of the trainable set, after each loop was clipped",
    "√ Σ g² over the block",
    "",
    "No block stays at 0 or far above the others",
    4,
  ),
  row(
    "grad_cosine",
    "Cosine between the gradients of the two loops",
    "g₁·g₂ / (‖g₁‖·‖g₂‖)",
    "-1–1",
    "Around 0; below -0.3 for long means that the loops work against each other",
    3,
  ),
  row(
    "update_share/earlier",
    "Share of the update that the gradients of earlier steps and the weight decay caused; only in steps of the gradient report",
    "1 - Σ update_share over the loops' terms",
    "",
    "0 in the first step, then up to 0.9 with β₁ 0.9",
    3,
  ),
  row(
    "learning_rate",
    "Learning rate of this step, after warm-up and schedule",
    "",
    "",
    "Follows the chosen schedule",
    8,
  ),
  row(
    "skipped_steps",
    "Updates skipped so far because a gradient was not finite",
    "",
    "steps",
    "0. Investigate one; several mean that a setting is wrong",
    0,
    DOWN,
  ),
  row("epoch", "Passes over the training rows so far", "rows drawn / training rows", "epochs", "", 3),
  row("step_time", "Wall time of the step", "", "s", "Constant; a slow rise suggests a leak", 2, DOWN),
  row(
    "time/<phase>",
    "Wall time of one phase of the step",
    "",
    "s",
    "Generation and partner take most of the step",
    3,
    DOWN,
  ),
  row(
    "memory/num_tensors",
    "Tensors alive after the step",
    "",
    "tensors",
    "Constant after the first steps; a rise at every step is a leak",
    0,
  ),
  row("memory/gpu_bytes", "Bytes held by live tensors", "", "bytes", "Constant after the first steps", 0),
  row(
    "memory/gpu_bytes_allocated",
    "Bytes of all GPU buffers, without small free buffers that the next step reuses",
    "",
    "bytes",
    "Levels off well below the device's limit",
    0,
  ),
  row(
    "features/rounding",
    "Relative error of features held in f16: the largest of the step's pictures",
    "‖stored - computed‖ / ‖computed‖",
    "",
    "Below 0.0005",
    6,
    DOWN,
  ),
  row(
    "ema/decay",
    "EMA decay of this step",
    "ema ← d·ema + (1-d)·policy",
    SHARE,
    "The value of emaDecay; with the ramp it rises to that value",
    5,
  ),
  row(
    "ema/distance",
    "Distance of the trained weights from their moving average",
    "‖policy - ema‖",
    "",
    "Rises, then levels off; a jump follows large updates",
    5,
  ),

  // Rewards of a loop
  row(
    "loopK/reward",
    "Mean reward of the loop: mean of the group means; in a group of all proposals, each counts with its probability",
    "mean over groups of the mean r, or of Σ p·r",
    "",
    "Rises over tens of steps; single steps are noisy",
    4,
    { alias: "loopK/reward_mean", ...UP },
  ),
  row(
    "loopK/reward_over_start",
    "Reward minus the expected reward of the starting weights on the same rows, estimated from the same rollouts with the current partner. Needs the KL to the start",
    "mean over groups of mean r - Σ w·r / Σ w, w = π_start / π",
    "",
    "Starts at 0 and rises. Unlike the reward, it does not depend on the sampled rows",
    4,
    UP,
  ),
  row(
    "loopK/start_sample_share",
    "Effective share of the rollouts in the estimate of reward_over_start",
    "(Σ w)² / (N · Σ w²)",
    SHARE,
    "Above 0.3. Below that, the gain over the start is understated",
    3,
  ),
  row(
    "loopK/reward_std",
    "Spread of the reward over all rollouts of the step",
    "std of r, divisor n-1",
    "",
    "Clearly above 0: without spread there is no learning signal",
    4,
  ),
  row("loopK/reward_min", "Lowest reward of the step", "min r", "", "", 4),
  row("loopK/reward_max", "Highest reward of the step", "max r", "", "", 4),
  row(
    "loopK/reward_missing",
    "Share of rollouts without a reward, for example because the judge failed",
    "rollouts without r / rollouts",
    SHARE,
    "0. Rollouts without a reward are excluded from their group",
    3,
    DOWN,
  ),
  row(
    "loopK/group_std_mean",
    "Spread within a group, averaged over the groups",
    "mean over groups of std of r",
    "",
    "Above 0.01. A fall to 0 means that the rollouts of a prompt are all alike",
    4,
  ),
  row(
    "loopK/frac_reward_zero_std",
    "Share of groups with equal rewards, or equal sums of normalised terms, which give no gradient",
    "groups with std = 0 / groups",
    SHARE,
    "Below 0.5",
    3,
    DOWN,
  ),
  row(
    "loopK/advantage_abs_mean",
    "Mean size of the advantages",
    "mean |A|",
    "",
    "0.7 to 0.9 with group scaling; 0 when no group had spread",
    4,
  ),
  row(
    "loopK/rewards/<term>/mean",
    "Mean of one reward term before weighting; proposals count with their probability, as in the reward. Missing values are excluded",
    "mean of the term",
    "",
    "Rises with its reward",
    4,
    UP,
  ),
  row("loopK/rewards/<term>/std", "Spread of one reward term", "std of the term, divisor n-1", "", "Above 0", 4),

  // Mix and order of the rows
  row(
    "loopK/source_reward/<source>",
    "Mean reward of the groups whose rows come from one source of the mix",
    "mean over its groups of the mean r",
    "",
    "Rises in every source; a falling source is being forgotten",
    4,
    UP,
  ),
  row("loopK/source_groups/<source>", "Groups of the step from one source of the mix", "", "groups", "", 0),
  row(
    "loopK/source_zero_std/<source>",
    "Share of a source's groups with equal rewards",
    "groups with std = 0 / groups",
    SHARE,
    "Below 0.5",
    3,
    DOWN,
  ),
  row(
    "loopK/resampled_groups",
    "Groups without spread that dynamic sampling replaced by groups of other rows",
    "",
    "groups",
    "Falls as rewards gain spread; if it always equals the number of prompts, the data is too easy or too hard",
    0,
  ),
];
