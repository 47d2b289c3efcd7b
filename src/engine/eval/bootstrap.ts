/**
 * Percentile bootstrap over pictures, with counter-based draws, so that an interval depends only on its numbers. The rows
 * of a picture are one cluster, because they are not independent: resampled one by one they give too narrow intervals. A
 * draw of clusters serves all metrics, and ratios of sums (cIoU, accuracies, means) are resampled as ratios
 * (docs/spec/evaluation.md#61-the-unit-is-the-picture).
 */

import { uniform } from "../gpu/random.ts";
import type { Interval } from "../runs/evaluations/evaluations.ts";

/** Number of bootstrap samples. */
export const RESAMPLES = 2000;
/** Stream number of these draws, separate from training. */
const BOOTSTRAP_STREAM = 64;

/** Rows by picture: the cluster of each row, clusters numbered by their first row. */
export interface Clusters {
  readonly of: readonly number[];
  readonly names: readonly string[];
}

/** A metric of drawn clusters, each counted as often as it was drawn; NaN if it is undefined for them. */
export type ClusterStatistic = (clusters: ArrayLike<number>) => number;

/** @param images picture of each row */
export function clustersBy(images: readonly string[]): Clusters {
  const numbers = new Map<string, number>();
  const of = images.map((image) => {
    const number = numbers.get(image) ?? numbers.size;
    numbers.set(image, number);
    return number;
  });
  return { of, names: [...numbers.keys()] };
}

/** Σ sum / Σ weight over the rows of the drawn clusters. @param value of a row; null leaves the row out */
export function ratio<T>(
  rows: readonly T[],
  { of, names }: Clusters,
  value: (row: T, at: number) => { readonly sum: number; readonly weight: number } | null,
): ClusterStatistic {
  const [sums, weights] = [new Float64Array(names.length), new Float64Array(names.length)];
  for (const [at, row] of rows.entries()) {
    const found = value(row, at);
    if (found === null) continue;
    const cluster = of[at] as number;
    sums[cluster] = (sums[cluster] as number) + found.sum;
    weights[cluster] = (weights[cluster] as number) + found.weight;
  }
  return (drawn) => {
    let [sum, weight] = [0, 0];
    for (let at = 0; at < drawn.length; at++) {
      sum += sums[drawn[at] as number] as number;
      weight += weights[drawn[at] as number] as number;
    }
    return sum / weight;
  };
}

/** Mean of a value over the rows that have one. */
export function meanOf<T>(
  rows: readonly T[],
  clusters: Clusters,
  value: (row: T, at: number) => number | null,
): ClusterStatistic {
  return ratio(rows, clusters, (row, at) => {
    const sum = value(row, at);
    return sum === null ? null : { sum, weight: 1 };
  });
}

/**
 * Values of statistics on all clusters with their central 95 % over resampled clusters. Draws on which a statistic is
 * not defined are left out of its interval.
 * @param count of clusters, at least 1
 */
export function bootstrapClusters(count: number, seed: number, statistics: readonly ClusterStatistic[]): Interval[] {
  const every = Array.from({ length: count }, (_, at) => at);
  const found = statistics.map(() => new Float64Array(RESAMPLES));
  const drawn = new Int32Array(count);
  for (let sample = 0; sample < RESAMPLES; sample++) {
    for (let position = 0; position < count; position++) {
      const key = { seed, step: sample, loop: 0, row: 0, rollout: 0, position, stream: BOOTSTRAP_STREAM };
      drawn[position] = Math.floor(uniform(key) * count);
    }
    for (const [at, statistic] of statistics.entries()) (found[at] as Float64Array)[sample] = statistic(drawn);
  }
  return statistics.map((statistic, at) => centralInterval(statistic(every), found[at] as Float64Array));
}

/** A value with the central 95 % of its resampled values; NaN values are left out. */
export function centralInterval(mean: number, resampled: Float64Array): Interval {
  const found = resampled.filter((value) => !Number.isNaN(value)).sort();
  const at = (index: number): number => found[index] ?? mean;
  return {
    mean,
    low: at(Math.floor(0.025 * found.length)),
    high: at(Math.ceil(0.975 * found.length) - 1),
  };
}

/** @param values one per row, at least one @param images of the rows */
export function bootstrapMean(values: readonly number[], images: readonly string[], seed: number): Interval {
  const clusters = clustersBy(images);
  const mean = meanOf(values, clusters, (value) => value);
  return bootstrapClusters(clusters.names.length, seed, [mean])[0] as Interval;
}
