/** Percentile bootstrap over rows, with counter-based draws, so that an interval is a function of its numbers alone. */
import { uniform } from "../gpu/random.ts";
import type { Interval } from "../runs/evaluations.ts";

/** Draws of whole samples. */
const RESAMPLES = 2000;
/** Stream number of these draws, apart from those of training. */
const BOOTSTRAP_STREAM = 64;

/**
 * A number made of rows and its interval over whole samples of them, drawn with replacement.
 * @param count rows, at least one
 * @param statistic of the rows with these numbers; `mean` of the result is that of all of them
 */
export function bootstrap(count: number, seed: number, statistic: (rows: Int32Array) => number): Interval {
  const rows = Int32Array.from({ length: count }, (_, i) => i);
  const mean = statistic(rows);
  const found = new Float64Array(RESAMPLES);
  for (let sample = 0; sample < RESAMPLES; sample++) {
    for (let i = 0; i < count; i++) {
      const key = { seed, step: sample, loop: 0, row: 0, rollout: 0, position: i, stream: BOOTSTRAP_STREAM };
      rows[i] = Math.floor(uniform(key) * count);
    }
    found[sample] = statistic(rows);
  }
  found.sort();
  return {
    mean,
    low: found[Math.floor(0.025 * RESAMPLES)] as number,
    high: found[Math.ceil(0.975 * RESAMPLES) - 1] as number,
  };
}

/** @param values one per row, at least one */
export function bootstrapMean(values: readonly number[], seed: number): Interval {
  return bootstrap(values.length, seed, (rows) => {
    let sum = 0;
    for (const row of rows) sum += values[row] as number;
    return sum / rows.length;
  });
}

/** Interval of the mean difference of two measurements of the same rows. */
export function pairedDifference(now: readonly number[], before: readonly number[], seed: number): Interval {
  return bootstrapMean(
    now.map((value, i) => value - (before[i] as number)),
    seed,
  );
}
