/** Golden schemas that need no tensors: advantages, masking, sampler, adaptive entropy. */
import {
  FULL_SAMPLING,
  greedyToken,
  inverseCdf,
  processRow,
  type SamplerSettings,
  sampleToken,
} from "../../../src/engine/policy/decode/sampler.ts";
import { captionMask } from "../../../src/engine/rl/loops/texts.ts";
import {
  type AdvantageSettings,
  groupAdvantages,
  type Reward,
  spreadOf,
} from "../../../src/engine/rl/objective/advantages.ts";
import {
  appliedCoefficient,
  type EntropyControlState,
  nextEntropyState,
} from "../../../src/engine/rl/objective/entropy-control.ts";
import { type LossType, lossSettings } from "../../../src/engine/rl/objective/loss-types.ts";
import { captionMetrics } from "../../../src/engine/rl/step/metrics/rollout-metrics.ts";
import { type CaseReport, flat, type Json, matrix, numberOr, record, records, text } from "../golden-json.ts";
import {
  ADVANTAGE_TOLERANCE,
  DOUBLE_TOLERANCE,
  LOSS_TOLERANCE,
  lossCase,
  METRIC_TOLERANCE,
  runLoss,
} from "./loss-run.ts";

/** TRL's defaults. */
export const TRL_ADVANTAGES: AdvantageSettings = {
  scale: "group",
  eps: 1e-4,
  baseline: "mean",
  aggregation: "sum_then_normalize",
};

export interface ScoredRows {
  /** [N] */
  readonly advantages: readonly number[];
  readonly stdUsed: readonly number[];
}

/**
 * The advantages of training for the rewards of a golden file.
 * @param rewards [N][F] group-major
 * @param weights [F]
 */
export function scoreRows(
  rewards: readonly (readonly Reward[])[],
  weights: readonly number[],
  groupSize: number,
  settings: AdvantageSettings,
): ScoredRows {
  const total = weightedRewards(rewards, weights);
  const groups = Array.from({ length: Math.ceil(rewards.length / groupSize) }, (_, g) => {
    const rows = rewards.slice(g * groupSize, (g + 1) * groupSize);
    const parts = weights.map((weight, k) => ({ weight, values: rows.map((row) => row[k] ?? null) }));
    return { rewards: total.slice(g * groupSize, (g + 1) * groupSize), probabilities: null, parts };
  });
  const scores = groupAdvantages(groups, settings);
  return {
    advantages: scores.flatMap(({ values: advantages }) => advantages),
    stdUsed: scores.flatMap(({ stdUsed, values: advantages }) => advantages.map(() => stdUsed)),
  };
}

/** TRL's weighted sum: missing entries are skipped, a row without any entry stays null. */
export function weightedRewards(rewards: readonly (readonly Reward[])[], weights: readonly number[]): Reward[] {
  return rewards.map((row) => {
    if (row.every((reward) => reward === null)) return null;
    return row.reduce<number>((sum, reward, k) => sum + (reward === null ? 0 : reward * (weights[k] as number)), 0);
  });
}

/** A deviation that is 0 up to rounding, by TRL's bound. */
export function isZeroStd(std: number): boolean {
  return std <= 1e-8;
}

function zeroSpreadFraction(stdUsed: readonly number[]): number {
  return stdUsed.length === 0 ? 0 : stdUsed.filter(isZeroStd).length / stdUsed.length;
}

/** `grpo-advantages`. */
export function checkAdvantagesCase(item: Json, report: CaseReport): void {
  const groupSize = numberOr(item, "group_size", 1);
  const weights = flat(item.reward_weights);
  const rewards = matrix(item.rewards_per_function).map((row) => row.map((r): Reward => (Number.isNaN(r) ? null : r)));
  const total = weightedRewards(rewards, weights);
  const scored = (changes: Partial<AdvantageSettings>): ScoredRows =>
    scoreRows(rewards, weights, groupSize, { ...TRL_ADVANTAGES, ...changes });
  const nulled = (values: readonly Reward[]): number[] => values.map((value) => value ?? Number.NaN);

  for (const [mode, value] of Object.entries(record(item, "trl"))) {
    const wanted = value as Json;
    const scale = mode === "batch" || mode === "none" ? mode : "group";
    const ours = scored(mode === "normalize_then_sum" ? { aggregation: mode } : { scale });
    report.compare(`${mode} advantages`, wanted.advantages, ours.advantages, ADVANTAGE_TOLERANCE);
    report.compare(`${mode} std`, wanted.std_used, ours.stdUsed, DOUBLE_TOLERANCE);
    report.compare(`${mode} total reward`, wanted.total_reward, nulled(total), DOUBLE_TOLERANCE);
    report.compare(`${mode} constant`, wanted.frac_reward_zero_std, zeroSpreadFraction(ours.stdUsed), DOUBLE_TOLERANCE);
    checkRewardMetrics(`${mode} `, record(wanted, "metrics"), rewards, total, ours.stdUsed, report);
  }
  const variants: Readonly<Record<string, Partial<AdvantageSettings>>> = {
    "verl_grpo_eps1e-6": { eps: 1e-6 },
    verl_grpo_no_std: { scale: "none" },
    rloo: { scale: "none", baseline: "leave-one-out" },
    "design_notes_eps1e-8": { eps: 1e-8 },
  };
  for (const [name, changes] of Object.entries(variants))
    if (name in item) report.compare(name, item[name], scored(changes).advantages, ADVANTAGE_TOLERANCE);
}

/** Metrics of the rewards of a batch against TRL's names. */
export function checkRewardMetrics(
  prefix: string,
  wanted: Json,
  rewards: readonly (readonly Reward[])[],
  total: readonly Reward[],
  stdUsed: readonly number[],
  report: CaseReport,
): void {
  const ours: Record<string, number> = {
    reward: spreadOf(total).mean,
    reward_std: spreadOf(total).std,
    frac_reward_zero_std: zeroSpreadFraction(stdUsed),
  };
  (rewards[0] ?? []).forEach((_, k) => {
    const column = spreadOf(rewards.map((row) => row[k] ?? null));
    ours[`rewards/r${k}/mean`] = column.mean;
    ours[`rewards/r${k}/std`] = column.std;
  });
  for (const [key, value] of Object.entries(wanted))
    report.compare(`${prefix}${key}`, value, ours[key] ?? Number.NaN, DOUBLE_TOLERANCE);
}

/** `grpo-masking`. */
export function checkMaskingCase(item: Json, report: CaseReport): void {
  const expected = record(item, "expected");
  const ends = new Set(flat(item.eos_token_ids));
  const rows = matrix(item.completion_ids);
  // As the decoder returns them: cut after the first end token.
  const completions = rows.map((row) => {
    const end = row.findIndex((id) => ends.has(id));
    const ids = end < 0 ? row : row.slice(0, end + 1);
    return { ids, logps: [], entropies: [], ended: end >= 0 };
  });
  const grid = (maskTruncatedCompletions: boolean): number[] => {
    const { mask, width } = captionMask(completions, maskTruncatedCompletions);
    return rows.flatMap((row, n) => row.map((_, t) => (t < width ? (mask[n * width + t] as number) : 0)));
  };
  report.compare("mask", expected.completion_mask, grid(false), {});
  report.compare(
    "lengths",
    expected.lengths,
    completions.map(({ ids }) => ids.length),
    {},
  );
  report.compare(
    "truncated",
    expected.is_truncated,
    completions.map(({ ended }) => Number(!ended)),
    {},
  );
  report.compare("without truncated rows", expected.mask_with_truncated_removed, grid(true), {});
  const metrics: Record<string, number> = captionMetrics([], completions);
  // Without any end TRL says 0 and trains nothing.
  for (const [key, value] of Object.entries(record(expected, "metrics")))
    report.compare(key, value, metrics[key] ?? (key.includes("_terminated_") ? 0 : Number.NaN), DOUBLE_TOLERANCE);
}

/** `grpo-sampler`. */
export function checkSamplerCase(item: Json, report: CaseReport): void {
  const options = record(item, "options");
  const expected = record(item, "expected");
  const logits = flat(item.logits);
  const seen = Array.isArray(item.previous_ids) ? flat(item.previous_ids) : [];
  const settings: SamplerSettings = {
    temperature: numberOr(options, "temperature", 1),
    guard: numberOr(options, "clip", Number.POSITIVE_INFINITY),
    topK: numberOr(options, "top_k", 0),
    topP: numberOr(options, "top_p", 1),
    minP: numberOr(options, "min_p", 0),
    repetitionPenalty: numberOr(options, "repetition_penalty", 1),
  };
  const row = processRow(logits, settings, seen);
  const removed = (values: Float64Array): number[] =>
    Array.from(values, (value, i) => (row.kept[i] === 1 ? value : Number.NaN));
  report.compare("kept", expected.kept, row.kept, {});
  report.compare("filtered logits", expected.filtered_logits, removed(row.scores), DOUBLE_TOLERANCE);
  report.compare("probabilities", expected.probabilities, row.probabilities, DOUBLE_TOLERANCE);
  const behaviour = removed(row.probabilities.map((p) => Math.log(p)));
  report.compare("behaviour log-probs", expected.behaviour_logp, behaviour, DOUBLE_TOLERANCE);
  // The recorded full distribution is tempered only, without the clip.
  const tempered = { ...FULL_SAMPLING, guard: Number.POSITIVE_INFINITY, temperature: settings.temperature };
  const { scores } = processRow(logits, tempered);
  const top = Math.max(...scores);
  const total = Math.log(scores.reduce((sum, z) => sum + Math.exp(z - top), 0));
  const full = scores.map((z) => z - top - total);
  report.compare("full log-probs", expected.tempered_full_logp, full, DOUBLE_TOLERANCE);
  const mass = full.reduce((sum, lp, i) => sum + (row.kept[i] === 1 ? Math.exp(lp) : 0), 0);
  report.compare("kept mass", expected.kept_mass_under_tempered_policy, mass, DOUBLE_TOLERANCE);
  const uniforms = flat(expected.uniforms);
  const draws = uniforms.map((u) => inverseCdf(row.probabilities, u));
  report.compare("draws", expected.inverse_cdf_draws, draws, {});
  const sampled = uniforms.map((u) => sampleToken(logits, settings, seen, u));
  report.compare(
    "drawn ids",
    expected.inverse_cdf_draws,
    sampled.map((token) => token.id),
    {},
  );
  const wanted = draws.map((id) => flat(expected.behaviour_logp)[id] as number);
  report.compare(
    "log-probs of the draws",
    wanted,
    sampled.map((token) => token.logpBehaviour),
    DOUBLE_TOLERANCE,
  );
  // A clip makes the largest logits equal; the arg max is taken before it.
  const ranked = "clip" in options ? logits : flat(expected.filtered_logits);
  const greedy = ranked.reduce((best, z, id) => (z > (ranked[best] ?? Number.NEGATIVE_INFINITY) ? id : best), -1);
  report.compare("greedy", greedy, greedyToken(logits, settings, seen).id, {});
}

/** `grpo-adaptive-entropy`: advantages are 0, the loss is the bonus alone. */
export async function checkAdaptiveEntropyCase(item: Json, report: CaseReport): Promise<void> {
  const control = {
    target: numberOr(item, "entropy_target", 0),
    delta: numberOr(item, "entropy_coef_delta", 0),
    min: numberOr(item, "entropy_coef_min", 0),
    max: numberOr(item, "entropy_coef_max", 1),
  };
  let state: EntropyControlState = { coefficient: numberOr(item, "initial_coefficient", 0), lastEntropy: null };
  for (const [index, step] of records(item, "steps").entries()) {
    const rows = matrix(step.completion_mask).length;
    const input = lossCase(step, new Array<number>(rows).fill(0));
    const entropyCoef = appliedCoefficient(state, control);
    const settings = lossSettings((text(item, "loss_type") || "grpo") as LossType, { entropyCoef, beta: 0 });
    report.compare(`step ${index} coefficient before`, step.coefficient_before, state.coefficient, DOUBLE_TOLERANCE);
    const run = await runLoss(input, settings);
    report.compare(`step ${index} loss`, step.loss, run.loss, LOSS_TOLERANCE);
    const count = input.mask.reduce((a, b) => a + b, 0);
    const mean = input.mask.reduce((sum, m, i) => sum + m * (run.entropies[i] as number), 0) / Math.max(1, count);
    report.compare(`step ${index} mean entropy`, step.mean_entropy, mean, METRIC_TOLERANCE);
    state = nextEntropyState(state, mean, control);
    report.compare(`step ${index} coefficient after`, step.coefficient_after, state.coefficient, DOUBLE_TOLERANCE);
  }
}
