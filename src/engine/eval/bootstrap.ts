/** Percentile bootstrap over rows, with counter-based draws, so that an interval is a function of its numbers alone. */
import { uniform } from "../gpu/random.ts";
import type { Interval } from "../runs/evaluations.ts";

/** Draws of whole samples. */
const RESAMPLES = 2000;
/** Stream number of these draws, apart from those of training. */
const BOOTSTRAP_STREAM = 64;

/** @param values one per row, at least one */
export function bootstrapMean(values: readonly number[], seed: number): Interval {
  const count = values.length;
  const mean = average(values);
  const means = new Float64Array(RESAMPLES);
  for (let sample = 0; sample < RESAMPLES; sample++) {
    let sum = 0;
    for (let i = 0; i < count; i++) {
      const key = { seed, step: sample, loop: 0, row: 0, rollout: 0, position: i, stream: BOOTSTRAP_STREAM };
      sum += values[Math.floor(uniform(key) * count)] as number;
    }
    means[sample] = sum / count;
  }
  means.sort();
  return {
    mean,
    low: means[Math.floor(0.025 * RESAMPLES)] as number,
    high: means[Math.ceil(0.975 * RESAMPLES) - 1] as number,
  };
}

/** Interval of the mean difference of two measurements of the same rows. */
export function pairedDifference(now: readonly number[], before: readonly number[], seed: number): Interval {
  return bootstrapMean(
    now.map((value, i) => value - (before[i] as number)),
    seed,
  );
}

export function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
