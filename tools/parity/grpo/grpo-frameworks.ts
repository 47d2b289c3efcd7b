/** Golden schemas `grpo-design-notes-formula` and `grpo-other-frameworks`. */
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { hostLoss, klTerm } from "../../../src/engine/rl/objective/loss.ts";
import { Doubles } from "../../../src/engine/rl/objective/loss-arrays.ts";
import {
  type Aggregation,
  type KlEstimator,
  type LossSettings,
  type LossType,
  lossSettings,
} from "../../../src/engine/rl/objective/loss-types.ts";
import { clipFlags } from "../../../src/engine/rl/step/metrics/loss-metrics.ts";
import { type CaseReport, flat, type Json, numberOr, record } from "../golden-json.ts";
import { scoreRows, TRL_ADVANTAGES } from "./grpo-cpu.ts";
import {
  active,
  DOUBLE_TOLERANCE,
  LOSS_TOLERANCE,
  type LossCase,
  type LossRun,
  lossCase,
  METRIC_TOLERANCE,
  metricArrays,
  runLoss,
} from "./loss-run.ts";

const NOTES_LEVELS = {
  token: { level: "token", klLevel: "token" },
  sequence_mean: { level: "sequence", klLevel: "sequence" },
  sequence_sum: { level: "sequence_sum", klLevel: "sequence_sum" },
} as const;

const NOTES_KL: Readonly<Record<string, KlEstimator>> = { as_written: "notes", k1_sign_corrected: "k1", k3: "k3" };

/** The design notes' formula: ratio against the reference, KL added as written. */
export async function checkNotesCase(item: Json, report: CaseReport): Promise<void> {
  const inputs = record(item, "inputs");
  const expected = record(item, "expected");
  const groupSize = numberOr(record(item, "shape"), "group_size", 1);
  const advantages = adv(flat(inputs.rewards), groupSize, 1e-8);
  report.compare("advantages", expected.advantages, advantages, DOUBLE_TOLERANCE);
  const input = lossCase(inputs, advantages);
  for (const [reading, value] of Object.entries(record(expected, "readings"))) {
    const [level = "token", kl = "as_written"] = reading.split("/");
    const clip = numberOr(item, "clip_range", 0.2);
    const settings = lossSettings("notes", {
      ...NOTES_LEVELS[level as keyof typeof NOTES_LEVELS],
      klEstimator: NOTES_KL[kl] ?? "notes",
      epsLow: clip,
      epsHigh: clip,
      beta: numberOr(item, "kl_coef", 0),
    });
    const wanted = value as Json;
    const run = await runLoss({ ...input, old: input.ref }, settings);
    report.compare(`${reading} policy loss`, wanted.policy_loss, run.policy, LOSS_TOLERANCE);
    report.compare(`${reading} KL penalty`, wanted.kl_penalty, run.klPenalty, LOSS_TOLERANCE);
    report.compare(`${reading} loss`, wanted.total_loss, run.loss, LOSS_TOLERANCE);
    report.compare(`${reading} gradient by logits`, wanted.grad_logits, run.gradLogits, LOSS_TOLERANCE);
    const perRow = flat(wanted.ratio).length === input.rows;
    const ratio = perRow ? run.ratio.filter((_, i) => i % input.tokens === 0) : active(input, run.ratio);
    const ratioWanted = perRow ? wanted.ratio : active(input, flat(wanted.ratio));
    report.compare(`${reading} ratio`, ratioWanted, ratio, LOSS_TOLERANCE);
  }
}

const AGGREGATIONS: Readonly<Record<string, Aggregation>> = {
  "token-mean": "micro-token-mean",
  "seq-mean-token-sum": "active-row-sum",
  "seq-mean-token-mean": "active-row-mean",
  "seq-mean-token-sum-norm": "padded-length",
  token: "micro-token-mean",
  seq: "row-mean",
};

/** verl's and EasyR1's losses under their aggregation modes, and the KL estimators. */
export async function checkFrameworkCase(item: Json, report: CaseReport): Promise<void> {
  const inputs = record(item, "inputs");
  const expected = record(item, "expected");
  const advantages = flat(inputs.advantages);
  const groupSize = numberOr(record(item, "shape"), "group_size", 1);
  report.compare("advantages", inputs.advantages, adv(flat(inputs.rewards), groupSize, 1e-6), { absolute: 1e-9 });
  const input = lossCase(inputs, advantages);
  for (const [name, value] of Object.entries(record(expected, "losses"))) {
    const wanted = value as Json;
    const settings = frameworkSettings(name, item);
    const run = await runLoss(input, settings);
    report.compare(`${name} loss`, wanted.loss, run.loss, LOSS_TOLERANCE);
    report.compare(`${name} gradient by logits`, wanted.grad_logits, run.gradLogits, LOSS_TOLERANCE);
    const ours = frameworkMetrics(input, run, settings);
    for (const [key, metric] of Object.entries(record(wanted, "metrics"))) {
      const got = ours[key.replace("actor/", "")];
      if (got !== undefined) report.compare(`${name} ${key}`, metric, got, METRIC_TOLERANCE);
    }
  }
  for (const [name, value] of Object.entries(record(expected, "kl_estimators"))) {
    const estimator = name.replaceAll("_", "-") as KlEstimator;
    const settings = lossSettings("bnpo", { beta: 1, klEstimator: estimator });
    // Without advantages the loss is the token mean of the KL estimate alone.
    const run = await runLoss({ ...input, old: null, advantages: advantages.map(() => 0) }, settings);
    const wanted = value as Json;
    report.compare(`KL ${name}`, active(input, flat(wanted.per_token)), active(input, run.kl), LOSS_TOLERANCE);
    report.compare(`KL ${name} gradient by logits`, wanted.token_mean_grad_logits, run.gradLogits, LOSS_TOLERANCE);
  }
}

function frameworkSettings(name: string, item: Json): LossSettings {
  const parts = name.split("/");
  const kind = parts[1] ?? "vanilla";
  const low = numberOr(item, "clip_ratio_low", 0.2);
  const high = numberOr(item, "clip_ratio_high", 0.2);
  const types: Readonly<Record<string, LossType>> = { cispo: "cispo", sapo: "sapo" };
  const sequence = kind === "gspo" || kind === "gspo_token";
  return lossSettings(types[kind] ?? "grpo", {
    level: sequence ? (parts[0] === "easyr1" && kind === "gspo" ? "sequence" : "gspo_token") : "token",
    aggregation: AGGREGATIONS[parts[2] ?? "seq-mean-token-mean"] ?? "active-row-mean",
    epsLow: low,
    epsHigh: high,
    delta: parts[0] === "verl" && sequence ? null : numberOr(item, "clip_ratio_dual", 3),
    weightMin: 1 - low,
    weightMax: 1 + high,
    beta: 0,
  });
}

function frameworkMetrics(input: LossCase, run: LossRun, settings: LossSettings): Record<string, number> {
  const data = metricArrays(input, run);
  const clipped = clipFlags(hostLoss(data, settings), data, settings);
  const mean = (values: ArrayLike<number>): number => {
    const counted = active(input, values);
    return counted.reduce((a, b) => a + b, 0) / Math.max(1, counted.length);
  };
  const region = clipped.low.map((flag, i) => flag | (clipped.high[i] as number));
  const old = input.old ?? run.logps;
  return {
    pg_clipfrac: mean(region),
    pg_clipfrac_higher: mean(region),
    // The dual bound belongs to the second half of the pair: EasyR1 and verl count it separately.
    pg_clipfrac_lower: mean(clipped.delta),
    ppo_kl: mean(run.logps.map((lp, i) => (old[i] as number) - lp)),
  };
}

/** `kl_clamping`: estimators over a list of log-ratios, on tensors and in double precision. */
export async function checkKlClamping(table: Json, report: CaseReport): Promise<void> {
  const q = flat(table.ref_minus_policy);
  const clamp = { difference: 20, value: 10 };
  const columns: readonly [string, KlEstimator, typeof clamp | null][] = [
    ["k3_unclamped", "k3", null],
    ["k3_clamped", "k3", clamp],
    ["k1", "k1", null],
    ["k2", "k2", null],
  ];
  for (const [key, estimator, bounds] of columns) {
    if (!(key in table)) continue;
    const double = klTerm(new Doubles([1, q.length], q).neg(), estimator, bounds).value.values;
    report.compare(`${key} in double`, table[key], double, { absolute: 1e-12, relative: 1e-12 });
    const values = tf.tidy(() => klTerm(tf.tensor1d(q).neg() as Tensor, estimator, bounds).value.clone());
    const got = await values.data();
    values.dispose();
    // float32 has no room above 3e38.
    const finite = flat(table[key]).map((v, i) => [v, got[i] as number] as const);
    const inRange = finite.filter(([v]) => Math.abs(v) < 1e30);
    for (const [wanted, found] of inRange)
      report.compare(`${key} of ${wanted.toPrecision(4)}`, wanted, found, { absolute: 1e-5, relative: 1e-4 });
  }
}

function adv(rewards: readonly number[], groupSize: number, eps: number): number[] {
  const rows = rewards.map((reward) => [reward]);
  return [...scoreRows(rows, [1], groupSize, { ...TRL_ADVANTAGES, eps }).advantages];
}
