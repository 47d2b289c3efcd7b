/** Golden schema `grpo-loss`: losses, gradients, advantages and metrics of the published loss types. */
import type { Reward } from "../../../src/engine/rl/objective/advantages.ts";
import { hostLoss } from "../../../src/engine/rl/objective/loss.ts";
import {
  type LossSettings,
  type LossType,
  lossSettings,
  type RatioLevel,
} from "../../../src/engine/rl/objective/loss-types.ts";
import { lossMetrics } from "../../../src/engine/rl/step/metrics/loss-metrics.ts";
import { type CaseReport, flat, type Json, matrix, numberOr, record, shapeOf, text } from "../golden-json.ts";
import { checkRewardMetrics, isZeroStd, scoreRows, TRL_ADVANTAGES, weightedRewards } from "./grpo-cpu.ts";
import {
  ADVANTAGE_TOLERANCE,
  active,
  DOUBLE_TOLERANCE,
  LOGP_TOLERANCE,
  LOSS_TOLERANCE,
  type LossCase,
  type LossRun,
  lossCase,
  METRIC_TOLERANCE,
  metricArrays,
  rowsOf,
  runLoss,
} from "./loss-run.ts";

/**
 * Compares one case of a `grpo-loss` file. If TRL 1.16 differs from the version that recorded the case, the engine
 * follows 1.16 and a row names what was left out.
 */
export async function checkLossCase(item: Json, report: CaseReport, file: Json): Promise<void> {
  const before = isBefore116(file);
  const expected = record(item, "expected");
  const hyper = record(item, "hyper");
  const inputs = record(item, "inputs");
  const advantages = checkAdvantages(item, expected, report);
  const input = lossCase(inputs, advantages, numberOr(hyper, "temperature", 1));
  for (const [variant, value] of Object.entries(record(expected, "variants"))) {
    const wanted = value as Json;
    const settings = settingsOf(variant, wanted, hyper, input);
    const changed = before ? changedSince(variant, settings, input) : null;
    if (changed !== null) report.leftOut(variant, changed);
    else if ("micro_losses" in wanted) await checkAccumulation(item, variant, wanted, input, settings, report);
    else await checkVariant(item, expected, variant, wanted, input, settings, report);
  }
}

/** Whether the file names a version of TRL below 1.16. */
function isBefore116(file: Json): boolean {
  const [, major, minor] = /(\d+)\.(\d+)/.exec(text(file, "trl_version") || text(file, "provenance")) ?? [];
  return Number(major) < 1 || (Number(major) === 1 && Number(minor) < 16);
}

/** What TRL 1.16 computes differently from 1.10 under these settings; null if the two agree. */
function changedSince(variant: string, settings: LossSettings, { mask }: LossCase): string | null {
  if (variant.startsWith("luspo/") && settings.beta > 0 && mask.includes(0))
    return "TRL 1.16 no longer averages KL over padding";
  const bonus = settings.entropyCoef !== 0 && settings.topEntropyQuantile < 1;
  if (bonus && settings.aggregation === "window-token-mean")
    return "TRL 1.16 takes the entropy bonus as a mean over the tokens it acts on";
  if (settings.delta !== null && settings.delta < 1 + settings.epsHigh)
    return "TRL 1.16 counts clipped ratios after the bound delta";
  return null;
}

function checkAdvantages(item: Json, expected: Json, report: CaseReport): readonly number[] {
  const hyper = record(item, "hyper");
  const rewards = matrix(record(item, "inputs").rewards).map((row) =>
    row.map((reward): Reward => (Number.isNaN(reward) ? null : reward)),
  );
  const weights = Array.isArray(hyper.reward_weights) ? flat(hyper.reward_weights) : (rewards[0] ?? []).map(() => 1);
  const total = weightedRewards(rewards, weights);
  const scale = hyper.scale_rewards === "none" || hyper.scale_rewards === "batch" ? hyper.scale_rewards : "group";
  const groupSize = numberOr(record(item, "shape"), "group_size", 1);
  const aggregation =
    hyper.multi_objective_aggregation === "normalize_then_sum" ? "normalize_then_sum" : "sum_then_normalize";
  const ours = scoreRows(rewards, weights, groupSize, { ...TRL_ADVANTAGES, scale, aggregation });
  report.compare("advantages", expected.advantages, ours.advantages, ADVANTAGE_TOLERANCE);
  report.compare("reward std", expected.reward_std_used, ours.stdUsed, DOUBLE_TOLERANCE);
  const zero = ours.stdUsed.map((std) => Number(isZeroStd(std)));
  report.compare("groups without spread", expected.group_std_is_zero, zero, {});
  checkRewardMetrics("", record(expected, "reward_metrics"), rewards, total, ours.stdUsed, report);
  return ours.advantages;
}

function settingsOf(variant: string, wanted: Json, hyper: Json, input: LossCase): LossSettings {
  const [type = "", level = "token"] = variant.split("/");
  const number = (key: string, otherwise: number): number => numberOr(hyper, key, otherwise);
  const high = number("epsilon_high", number("epsilon_low", 0.2));
  return lossSettings(type as LossType, {
    level: level as RatioLevel,
    epsLow: number("epsilon_low", 0.2),
    epsHigh: type === "cispo" ? high : numberOr(wanted, "epsilon_high_used", high),
    delta: typeof hyper.delta === "number" ? hyper.delta : null,
    logRatioBound: null,
    weightMax: numberOr(wanted, "epsilon_high_used", 5),
    sapo: { positive: number("sapo_temperature_pos", 1), negative: number("sapo_temperature_neg", 1.05) },
    vespo: {
      kPositive: number("vespo_k_pos", 2),
      lambdaPositive: number("vespo_lambda_pos", 3),
      kNegative: number("vespo_k_neg", 3),
      lambdaNegative: number("vespo_lambda_neg", 2),
    },
    beta: input.ref === null ? 0 : number("beta", 0),
    klClamp: null,
    useBiasCorrectionKl: hyper.use_bias_correction_kl === true,
    entropyCoef: number("entropy_coef", 0),
    topEntropyQuantile: number("top_entropy_quantile", 1),
    offPolicyMaskThreshold:
      typeof hyper.off_policy_mask_threshold === "number" ? hyper.off_policy_mask_threshold : null,
    maxCompletionLength: number("max_completion_length", input.tokens),
  });
}

async function checkVariant(
  item: Json,
  expected: Json,
  variant: string,
  wanted: Json,
  input: LossCase,
  settings: LossSettings,
  report: CaseReport,
): Promise<void> {
  const run = await runLoss(input, settings);
  const check = (what: string, key: string, got: ArrayLike<number> | number): void => {
    if (key in wanted) report.compare(`${variant} ${what}`, wanted[key], got, LOSS_TOLERANCE);
  };
  check("loss", "loss", run.loss);
  check("loss without tensors", "loss", hostLoss(metricArrays(input, run), settings).loss);
  check("policy loss", "loss_policy_only", run.policy);
  check("gradient by log-probs", "grad_logps", run.gradLogps);
  check("gradient by log-probs without tensors", "grad_logps", hostLoss(metricArrays(input, run), settings).byLogp);
  check("gradient by logits", "grad_logits", run.gradLogits);
  check("sequence ratio", "sequence_ratio", firstColumn(run.ratio, input.tokens));
  if ("per_token_loss" in wanted) {
    const columns = shapeOf(wanted.per_token_loss)[1] ?? 1;
    const pick = (values: ArrayLike<number>): number[] => active(input, values);
    if (columns === input.tokens && columns > 1)
      report.compare(
        `${variant} loss per token`,
        pick(flat(wanted.per_token_loss)),
        pick(run.perToken),
        LOSS_TOLERANCE,
      );
    else check("loss per row", "per_token_loss", firstColumn(run.perToken, input.tokens));
  }
  checkMetrics(variant, record(wanted, "metrics"), input, run, settings, report);
  checkSharedArrays(expected, variant, input, run, settings, report);
  if (Array.isArray(item.raw_logits)) await checkGuard(item, variant, wanted, input, settings, report);
}

function checkMetrics(
  variant: string,
  wanted: Json,
  input: LossCase,
  run: LossRun,
  settings: LossSettings,
  report: CaseReport,
): void {
  const ours: Record<string, number> = {
    ...lossMetrics(metricArrays(input, run), settings),
    policy_loss: run.policy + run.klPenalty,
    entropy_coef: settings.entropyCoef,
  };
  for (const [key, value] of Object.entries(wanted))
    report.compare(`${variant} ${key}`, value, ours[key] ?? Number.NaN, METRIC_TOLERANCE);
}

/** Arrays that do not depend on the variant; compared once, with the first one. */
function checkSharedArrays(
  expected: Json,
  variant: string,
  input: LossCase,
  run: LossRun,
  settings: LossSettings,
  report: CaseReport,
): void {
  if (variant !== Object.keys(record(expected, "variants"))[0]) return;
  const compare = (what: string, key: string, got: number[]): void => {
    if (key in expected) report.compare(what, active(input, flat(expected[key])), got, LOGP_TOLERANCE);
  };
  compare("log-probs", "per_token_logps", active(input, run.logps));
  compare("entropies", "entropies", active(input, run.entropies));
  const old = input.old ?? run.logps;
  compare(
    "log-ratio",
    "log_ratio",
    active(
      input,
      run.logps.map((lp, i) => lp - (old[i] as number)),
    ),
  );
  if (!settings.useBiasCorrectionKl) compare("KL per token", "per_token_kl", active(input, run.kl));
}

/** The same loss from unclipped logits: the guard of the log-prob code must give the same, with gradient 0 where it acts. */
async function checkGuard(
  item: Json,
  variant: string,
  wanted: Json,
  input: LossCase,
  settings: LossSettings,
  report: CaseReport,
): Promise<void> {
  const guard = input.logits.reduce((most, z) => Math.max(most, Math.abs(z)), 0);
  const run = await runLoss({ ...input, logits: flat(item.raw_logits), guard }, settings);
  report.compare(`${variant} loss through the guard`, wanted.loss, run.loss, LOSS_TOLERANCE);
  if (!("grad_logits" in wanted)) return;
  const passes = flat(item.clip_passes_gradient);
  const gradient = flat(wanted.grad_logits).map((g, i) => g * (passes[i] as number));
  report.compare(`${variant} gradient through the guard`, gradient, run.gradLogits, LOSS_TOLERANCE);
}

async function checkAccumulation(
  item: Json,
  variant: string,
  wanted: Json,
  input: LossCase,
  settings: LossSettings,
  report: CaseReport,
): Promise<void> {
  const whole = await runLoss(input, settings);
  report.compare(`${variant} whole loss`, wanted.whole_loss, whole.loss, LOSS_TOLERANCE);
  report.compare(`${variant} whole gradient`, wanted.whole_grad_logits, whole.gradLogits, LOSS_TOLERANCE);
  const micro = matrix(item.micro_batches);
  const perMicro = {
    ...settings,
    accumulation: micro.length,
    activeTokensTotal: input.mask.reduce((sum, m) => sum + m, 0),
  };
  const losses: number[] = [];
  const gradient = new Float64Array(input.logits.length);
  for (const rows of micro) {
    const [start, end] = [rows[0] as number, rows[1] as number];
    const run = await runLoss(rowsOf(input, start, end), perMicro);
    losses.push(run.loss);
    const offset = start * input.tokens * input.vocabulary;
    for (const [i, g] of run.gradLogits.entries()) gradient[offset + i] = (gradient[offset + i] as number) + g;
  }
  const sum = losses.reduce((a, b) => a + b, 0);
  report.compare(`${variant} micro losses`, wanted.micro_losses, losses, LOSS_TOLERANCE);
  report.compare(`${variant} accumulated loss`, wanted.accumulated_loss, sum, LOSS_TOLERANCE);
  report.compare(`${variant} accumulated gradient`, wanted.accumulated_grad_logits, gradient, LOSS_TOLERANCE);
  const agrees = Math.abs(sum - whole.loss) <= 1e-5 * Math.max(1, Math.abs(whole.loss));
  if (typeof wanted.invariant === "boolean")
    report.compare(`${variant} invariant`, wanted.invariant, Number(agrees), {});
}

function firstColumn(values: ArrayLike<number>, width: number): number[] {
  return Array.from({ length: values.length / width }, (_, n) => values[n * width] as number);
}

/** Name of a case for the report. */
export function caseName(path: string, item: Json, index: number): string {
  return `${path} ${text(item, "name") || text(item, "kind") || `case ${index}`}`;
}
