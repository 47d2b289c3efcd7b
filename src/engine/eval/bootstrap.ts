/**
 * Percentile bootstrap over the images of rows, with counter-based draws, so that an interval depends only on its numbers.
 * Rows of one image are resampled together, because they are not independent: separate resampling gives too narrow
 * intervals.
 */
import { uniform } from "../gpu/random.ts";
import type { Interval } from "../runs/evaluations.ts";

/** Number of bootstrap samples. */
const RESAMPLES = 2000;
/** Stream number of these draws, separate from training. */
const BOOTSTRAP_STREAM = 64;

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
  found.sort();
  return {
    mean,
    low: found[Math.floor(0.025 * RESAMPLES)] as number,
    high: found[Math.ceil(0.975 * RESAMPLES) - 1] as number,
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
