/**
 * Percentile bootstrap over two levels at once: training seeds, and the images of the held-out rows that every seed is
 * scored on. A resample draws seeds and images with replacement, each independently of the other, since the rows are
 * crossed with the seeds. With few seeds the interval is too narrow: three seeds have ten different resamples.
 */
import { uniform } from "../gpu/random.ts";
import type { Interval } from "../runs/evaluations/evaluations.ts";
import { centralInterval, clustersBy, RESAMPLES } from "./bootstrap.ts";

/** Stream number of these draws, separate from that of the bootstrap over images alone. */
const CROSSED_STREAM = 67;

/**
 * @param values one list per run, at least one; each with one value per row, at least one
 * @param images of the rows, the same for all runs
 * @returns the mean over runs of their means over rows, and its central 95 %
 */
export function crossedBootstrap(
  values: readonly (readonly number[])[],
  images: readonly string[],
  seed: number,
): Interval {
  const { of: clusters, names } = clustersBy(images);
  const counts = sums(clusters, names.length, () => 1);
  const totals = values.map((run) => sums(clusters, names.length, (row) => run[row] as number));
  const every = names.map((_, image) => image);
  const found = new Float64Array(RESAMPLES);
  for (let sample = 0; sample < RESAMPLES; sample++) {
    const draw = (loop: number, position: number, count: number): number =>
      Math.floor(count * uniform({ seed, step: sample, loop, row: 0, rollout: 0, position, stream: CROSSED_STREAM }));
    const drawnImages = every.map((_, position) => draw(0, position, names.length));
    const drawnRuns = totals.map((_, position) => totals[draw(1, position, totals.length)] as Float64Array);
    found[sample] = meanOf(drawnRuns, counts, drawnImages);
  }
  return centralInterval(meanOf(totals, counts, every), found);
}

function sums(clusters: readonly number[], size: number, value: (row: number) => number): Float64Array {
  const out = new Float64Array(size);
  clusters.forEach((cluster, row) => {
    out[cluster] = (out[cluster] as number) + value(row);
  });
  return out;
}

/** Every run has the same images, so the mean over runs of their means is one quotient. */
function meanOf(runs: readonly Float64Array[], counts: Float64Array, images: readonly number[]): number {
  let [sum, rows] = [0, 0];
  for (const image of images) {
    rows += counts[image] as number;
    for (const run of runs) sum += run[image] as number;
  }
  return sum / (rows * runs.length);
}
