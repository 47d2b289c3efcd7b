/** Statistics of the bench's groups: distributions, spread, correlations, ranks. Missing values are left out. */
import type { BenchGroup, BenchRollout } from "./bench-group.ts";

/** "reward", "advantage", or the name of a term. */
export type Measure = string;

/** Value of a measure; null when it is missing or the rollout has no such term. */
export function measureOf(
  rollout: Pick<BenchRollout, "reward" | "advantage" | "terms">,
  measure: Measure,
): number | null {
  if (measure === "reward") return rollout.reward;
  if (measure === "advantage") return rollout.reward === null ? null : rollout.advantage;
  return rollout.terms.find((term) => term.name === measure)?.value ?? null;
}

/** Measures for which at least one rollout has a term, the reward first. */
export function measuresOf(groups: readonly BenchGroup[]): readonly Measure[] {
  const names = new Set<string>();
  for (const group of groups) for (const { terms } of group.rollouts) for (const { name } of terms) names.add(name);
  return ["reward", ...names];
}

interface MeasureSummary {
  readonly measure: Measure;
  readonly count: number;
  readonly missing: number;
  readonly mean: number;
  /** Over all rollouts, divisor n - 1. */
  readonly std: number;
  readonly min: number;
  readonly max: number;
  /** Mean over groups of the standard deviation inside the group, the only spread that affects advantages. */
  readonly withinStd: number;
  /** Share of groups with equal values (groups without a value count). */
  readonly flatShare: number;
}

export function summarise(groups: readonly BenchGroup[], measure: Measure): MeasureSummary {
  const columns = groups.map((group) => group.rollouts.map((rollout) => measureOf(rollout, measure)));
  const present = columns.map((column) => column.filter((value) => value !== null));
  const values = present.flat();
  const all = moments(values);
  const within = present.filter((column) => column.length > 1).map((column) => moments(column).std);
  return {
    measure,
    count: values.length,
    missing: columns.flat().length - values.length,
    mean: all.mean,
    std: all.std,
    min: values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY),
    max: values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY),
    withinStd: within.length === 0 ? Number.NaN : within.reduce((sum, std) => sum + std, 0) / within.length,
    flatShare: groups.length === 0 ? Number.NaN : present.filter(isFlat).length / groups.length,
  };
}

/** Whether all values are equal. */
export function isFlat(values: readonly number[]): boolean {
  return values.every((value) => value === values[0]);
}

function moments(values: readonly number[]): { readonly mean: number; readonly std: number } {
  const count = values.length;
  if (count === 0) return { mean: Number.NaN, std: Number.NaN };
  const first = values[0] as number;
  const mean = first + values.reduce((sum, value) => sum + (value - first), 0) / count;
  if (count === 1 || isFlat(values)) return { mean, std: 0 };
  return { mean, std: Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (count - 1)) };
}

export interface Bin {
  readonly from: number;
  /** Exclusive, except for the last bin. */
  readonly to: number;
  readonly count: number;
}

/** `bins` equal intervals from the smallest to the largest value; one bin when all are equal, none without a value. */
export function histogram(groups: readonly BenchGroup[], measure: Measure, bins: number): readonly Bin[] {
  const values = groups
    .flatMap((group) => group.rollouts.map((rollout) => measureOf(rollout, measure)))
    .filter((value) => value !== null);
  if (values.length === 0) return [];
  const { min, max } = summarise(groups, measure);
  if (min === max) return [{ from: min, to: max, count: values.length }];
  const width = (max - min) / bins;
  return Array.from({ length: bins }, (_, at) => {
    const last = at === bins - 1;
    const bin = { from: min + at * width, to: last ? max : min + (at + 1) * width, count: 0 };
    // Counted with the listed edges, because rounding may put a value at an edge on either side.
    return { ...bin, count: values.filter((value) => inBin(value, bin, last)).length };
  });
}

/** Whether a value lies in a bin of `histogram`. @param last whether the bin is the last one */
export function inBin(value: number | null, bin: Bin, last: boolean): boolean {
  return value !== null && value >= bin.from && (last ? value <= bin.to : value < bin.to);
}

/**
 * Pearson correlation of two measures over the rollouts that have both; null below three of them or if one does not
 * vary. Inside groups, each group's means are subtracted first, because advantages depend only on the differences.
 */
export function correlation(groups: readonly BenchGroup[], a: Measure, b: Measure, inside: boolean): number | null {
  const x: number[] = [];
  const y: number[] = [];
  for (const group of groups) {
    const pairs = group.rollouts.flatMap((rollout) => {
      const [first, second] = [measureOf(rollout, a), measureOf(rollout, b)];
      return first === null || second === null ? [] : [[first, second] as const];
    });
    const offset = (at: 0 | 1): number => (inside ? moments(pairs.map((pair) => pair[at])).mean : 0);
    const [offX, offY] = [offset(0), offset(1)];
    for (const [first, second] of pairs) {
      x.push(first - offX);
      y.push(second - offY);
    }
  }
  if (x.length < 3) return null;
  const [mx, my] = [moments(x).mean, moments(y).mean];
  let [xy, xx, yy] = [0, 0, 0];
  for (const [at, value] of x.entries()) {
    const [dx, dy] = [value - mx, (y[at] as number) - my];
    xy += dx * dy;
    xx += dx * dx;
    yy += dy * dy;
  }
  // Rounding leaves tiny differences where a measure is constant in every group.
  const scale = 1e-24 * x.length;
  return xx <= scale || yy <= scale ? null : Math.max(-1, Math.min(1, xy / Math.sqrt(xx * yy)));
}

export type Order = "best" | "worst" | "widest" | "flattest";

/** Groups sorted by mean reward or by spread; groups without a reward come last. */
export function rankGroups(groups: readonly BenchGroup[], order: Order): readonly BenchGroup[] {
  const sign = order === "best" || order === "widest" ? -1 : 1;
  const key = (group: BenchGroup): number =>
    order === "best" || order === "worst" ? group.rewardMean : group.rewardStd;
  return [...groups].sort((a, b) => {
    const [lost, alsoLost] = [Number.isNaN(a.rewardMean), Number.isNaN(b.rewardMean)];
    if (lost || alsoLost) return Number(lost) - Number(alsoLost);
    return sign * (key(a) - key(b)) || a.key.localeCompare(b.key);
  });
}
