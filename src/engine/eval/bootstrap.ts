/**
 * Percentile bootstrap over the images of rows, with counter-based draws, so that an interval depends only on its numbers.
 * Rows of one image are resampled together, because they are not independent: separate resampling gives too narrow
 * intervals.
 */
import { uniform } from "../gpu/random.ts";
import type { Interval } from "../runs/evaluations/evaluations.ts";

/** Number of bootstrap samples. */
export const RESAMPLES = 2000;
/** Stream number of these draws, separate from training. */
export const BOOTSTRAP_STREAM = 64;

/**
 * A statistic of rows and its bootstrap interval over images.
 * @param images image of each row, at least one row
 * @param statistic computed from the rows with these indices; `mean` of the result is that of all rows
 */
export function bootstrap(
  images: readonly string[],
  seed: number,
  statistic: (rows: readonly number[]) => number,
): Interval {
  const mean = statistic(images.map((_, row) => row));
  const byImage = new Map<string, number[]>();
  for (const [row, image] of images.entries()) byImage.set(image, [...(byImage.get(image) ?? []), row]);
  const clusters = [...byImage.values()];
  const found = new Float64Array(RESAMPLES);
  for (let sample = 0; sample < RESAMPLES; sample++) {
    const rows = clusters.flatMap((_, position) => {
      const key = { seed, step: sample, loop: 0, row: 0, rollout: 0, position, stream: BOOTSTRAP_STREAM };
      return clusters[Math.floor(uniform(key) * clusters.length)] as number[];
    });
    found[sample] = statistic(rows);
  }
  return centralInterval(mean, found);
}

/** A value with the central 95 % of its resampled values; those that are not a number are left out. */
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
  return bootstrap(images, seed, (rows) => {
    let sum = 0;
    for (const row of rows) sum += values[row] as number;
    return sum / rows.length;
  });
}
