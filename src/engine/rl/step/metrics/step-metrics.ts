/** Metrics of one loop in one step, under TRL's names with the loop as prefix (meanings: runs/metrics/metric-table.ts). */
import { addTo } from "../../../bytes/collections.ts";
import type { LabConfig } from "../../../config/table.ts";
import type { LoopId } from "../../../runs/rollouts/records.ts";
import { LOOP_IDS } from "../../loops/abouts.ts";
import type { AdvantageGroup, Group } from "../group.ts";
import { lossMetrics, type MeasuredLoss } from "./loss-metrics.ts";

const mean = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length;

function deviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1));
}

type Put = (name: string, value: number) => void;

/** Metrics of a loop's rollouts. @param groups all of the step */
export function sampledMetrics(loop: LoopId, groups: readonly AdvantageGroup[]): Record<string, number> {
  const out: Record<string, number> = {};
  const put: Put = (name, value) => {
    out[`loop${loop}/${name}`] = value;
  };
  const all = groups.flatMap((group) => group.rollouts.map(({ reward }) => reward));
  const rewards = all.filter((reward) => reward !== null);
  const rewarded = groups.map(({ advantages }) => advantages);
  // Groups without any reward have no mean; they are counted, not averaged.
  put("reward", mean(rewarded.map((own) => own.mean).filter((value) => !Number.isNaN(value))));
  put("reward_std", deviation(rewards));
  put("reward_min", rewards.length === 0 ? Number.NaN : Math.min(...rewards));
  put("reward_max", rewards.length === 0 ? Number.NaN : Math.max(...rewards));
  put("reward_missing", mean(all.map((reward) => Number(reward === null))));
  put("group_std_mean", mean(rewarded.map(({ std }) => std)));
  put("frac_reward_zero_std", mean(rewarded.map(({ zeroSpread }) => Number(zeroSpread))));
  put("advantage_abs_mean", mean(rewarded.flatMap(({ values }) => values.map(Math.abs))));
  for (const [name, found] of termValues(groups)) {
    const weights = sum(found.map(({ weight }) => weight));
    put(`rewards/${name}/mean`, sum(found.map(({ value, weight }) => value * weight)) / weights);
    put(`rewards/${name}/std`, deviation(found.map(({ value }) => value)));
  }
  average(
    groups.map((group) => {
      const found = overStart(group);
      if (found === null) return group.metrics;
      return { ...group.metrics, reward_over_start: found.gain, start_sample_share: found.share };
    }),
    put,
  );
  const terminated = meanTerminated(groups);
  if (terminated !== null) put(TERMINATED, terminated);
  return out;
}

const TERMINATED = "completions/mean_terminated_length";

/** Over all completions with an end token, because groups differ in their number; null without any. */
function meanTerminated(groups: readonly Group[]): number | null {
  let [tokens, count] = [0, 0];
  for (const { metrics, rollouts } of groups) {
    const length = metrics[TERMINATED];
    if (length === undefined) continue;
    const ended = rollouts.filter(({ truncated }) => !truncated).length;
    tokens += length * ended;
    count += ended;
  }
  return count === 0 ? null : tokens / count;
}

/**
 * Metrics of one pass over a loop's rollouts, or over one window of them.
 * @param losses one per group, with the denominators of the shown ratios
 * @param alike whether the pass repeats the computation of sampling: same weights, no dropout
 */
export function passMetrics(loop: LoopId, losses: readonly MeasuredLoss[], alike: boolean): Record<string, number> {
  const out: Record<string, number> = {};
  const put: Put = (name, value) => {
    out[`loop${loop}/${name}`] = value;
  };
  put("loss", sum(losses.map(({ readback }) => readback.loss)));
  put("policy_loss", sum(losses.map(({ readback }) => readback.policy)));
  average(
    losses.map(({ group, readback, settings, data, loss }) => ({
      // A group that is masked whole must not lower the means over the groups.
      ...(group.mask.includes(1) ? lossMetrics(data, settings, loss) : {}),
      ...(alike ? agreement(group, readback.logps) : {}),
      ...Object.fromEntries(Object.entries(readback.auxiliary).map(([name, value]) => [`${name}_loss`, value])),
    })),
    put,
  );
  return out;
}

/**
 * Combines several passes: the mean of each name, and for extremes the extreme of all. A name that only some passes
 * have is averaged over these.
 * @param passes one record per pass, at least one; a single one is returned unchanged
 */
export function overPasses(passes: readonly Readonly<Record<string, number>>[]): Readonly<Record<string, number>> {
  const [first = {}, ...later] = passes;
  if (later.length === 0) return first;
  const out: Record<string, number> = {};
  for (const name of new Set(passes.flatMap((pass) => Object.keys(pass)))) {
    const values = passes.flatMap((pass) => pass[name] ?? []);
    const [one = Number.NaN] = values;
    // The mean of equal numbers is exactly that number.
    out[name] = values.every((value) => Object.is(value, one)) ? one : together(name, values);
  }
  return out;
}

/**
 * The mean of a metric's values, or their extreme if its name says so, such as `ratio/min` and
 * `completions/max_length`.
 */
function together(name: string, values: readonly number[]): number {
  const extreme = /[/_](min|max)(?:_[a-z_]+)?$/.exec(name)?.[1];
  if (extreme === "min") return values.reduce((least, value) => Math.min(least, value));
  return extreme === "max" ? values.reduce((most, value) => Math.max(most, value)) : mean(values);
}

/** Difference between the training pass and the sampling pass: a permanent check of cache, padding and guard. */
function agreement({ mask, samplingLogps }: Group, logps: Float32Array): Record<string, number> {
  const gaps: number[] = [];
  mask.forEach((m, at) => {
    if (m === 1) gaps.push(Math.abs((logps[at] as number) - (samplingLogps[at] as number)));
  });
  if (gaps.length === 0) return {};
  return {
    "logp_train_vs_sampling/mean": mean(gaps),
    // A group of pixel actions has more values than a call can take as arguments.
    "logp_train_vs_sampling/max": gaps.reduce((most, gap) => Math.max(most, gap), 0),
  };
}

interface Weighted {
  readonly value: number;
  /** 1; in a group of a whole action set the probability of the action, so that groups of any size count alike, as in the reward. */
  readonly weight: number;
}

/** Known values by term. */
function termValues(groups: readonly Group[]): Map<string, Weighted[]> {
  const values = new Map<string, Weighted[]>();
  for (const { rollouts, probabilities } of groups) {
    for (const [n, { terms }] of rollouts.entries()) {
      const weight = probabilities === null ? 1 : (probabilities[n] as number);
      for (const { name, value } of terms) if (value !== null) addTo(values, name, { value, weight });
    }
  }
  return values;
}

/** Mean or extreme of each metric over the records that have it. */
function average(records: readonly Readonly<Record<string, number>>[], put: Put): void {
  for (const name of new Set(records.flatMap((record) => Object.keys(record)))) {
    const values = records.flatMap((record) => record[name] ?? []);
    put(name, together(name, values));
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Weighted sum of the loops' losses, or the loss of another mode. */
export function totalLoss(metrics: Readonly<Record<string, number>>, config: LabConfig): number {
  if (config.mode !== "rl") return metrics[`${config.mode}/loss`] ?? 0;
  return LOOP_IDS.reduce((sum, id) => sum + config[`loop${id}Weight`] * (metrics[`loop${id}/loss`] ?? 0), 0);
}

/**
 * The reward of a group compared with the expected reward of the run's starting weights on the same row, without
 * sampling from them: rollouts are weighted by how much more likely they are under the start. Differences in difficulty
 * between rows then do not hide what was learnt.
 */
interface OverStart {
  /** Mean reward minus Σ w·R / Σ w with w = π_start / π; 0 at the start. */
  readonly gain: number;
  /** (Σ w)² / (N · Σ w²), 0..1: effective share of the rollouts in the estimate. */
  readonly share: number;
}

/**
 * Dividing by Σ w keeps the estimate within the range of the observed rewards, so it understates a gain while the share
 * is small. Exact for a whole action set.
 * @returns null if the start's log-probabilities are not known or no rollout has a reward
 */
function overStart({ rollouts, probabilities, actions, labels, samplingLogps, startLogps }: Group): OverStart | null {
  if (startLogps === undefined || startLogps === null) return null;
  const rows = rollouts.flatMap(({ reward }, n) => {
    if (reward === null) return [];
    let log = 0;
    // Over all actions: those that the loss masks were sampled too.
    for (let at = n * actions; at < n * actions + (labels[n]?.length ?? 0); at++) {
      log += (startLogps[at] as number) - (samplingLogps[at] as number);
    }
    return [{ reward, log, p: probabilities?.[n] ?? 1 }];
  });
  const most = Math.max(...rows.map(({ log }) => log));
  let [total, sum, earned, weighted, squares] = [0, 0, 0, 0, 0];
  for (const { reward, log, p } of rows) {
    const w = p * Math.exp(log - most);
    total += p;
    sum += w;
    squares += (w * w) / (p || 1);
    earned += p * reward;
    weighted += w * reward;
  }
  if (!(total > 0 && sum > 0)) return null;
  return { gain: earned / total - weighted / sum, share: (sum * sum) / (total * squares) };
}
