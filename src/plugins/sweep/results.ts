/** Held-out results of a sweep's finished jobs: paired differences from the start, per seed and over seeds. */

import { badInput, LabError } from "../../engine/errors.ts";
import { bootstrapMean, centralInterval, clustersBy, RESAMPLES } from "../../engine/eval/bootstrap.ts";
import { uniform } from "../../engine/gpu/random.ts";
import { rowScoreOf, type ScoreId } from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { EvalReport, Interval, RowScores, StoredEvaluation } from "../../engine/runs/evaluations/evaluations.ts";
import type { SweepJob } from "./plan.ts";
import { runInterval } from "./run-interval.ts";

// Percentile bootstrap over two levels at once: training seeds, and the images of the held-out rows that every seed is
// scored on. A resample draws seeds and images with replacement, each independently of the other, since the rows are
// crossed with the seeds. With few seeds the interval is too narrow: three seeds have ten different resamples.

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

const SEED = 1;

/** A job with its run's first and last evaluation of the report rows. */
export interface DoneJob {
  readonly job: SweepJob;
  /** Id of the run. */
  readonly run: string;
  readonly before: readonly RowScores[];
  /** In the order of `before`. */
  readonly after: readonly RowScores[];
  readonly evaluations: readonly EvalReport[];
}

export interface MetricResult {
  /** Rows with the score at both steps of every run, and their pictures; the others are left out. */
  readonly rows: number;
  readonly images: number;
  /** Mean over the rows at the start. */
  readonly start: number;
  /** Over seeds and pictures; null for a single seed. */
  readonly all: Interval | null;
  /** t interval over runs alone: what to expect of another seed on these rows; null for a single seed. */
  readonly runs: Interval | null;
  /** Per seed, over pictures. */
  readonly seeds: readonly { readonly seed: number; readonly difference: Interval }[];
}

export interface VariantResult {
  readonly variant: string;
  readonly jobs: readonly DoneJob[];
  readonly rows: number;
  readonly images: number;
  /** A metric is absent if no row has it at both steps of every run. */
  readonly metrics: Readonly<Partial<Record<ScoreId, MetricResult>>>;
}

/**
 * The report rows of a finished job's run.
 * @param all evaluations of the run, oldest first
 * @throws LabError("bad-input") naming a row that is missing at the end
 */
export function doneJob(job: SweepJob, run: string, all: readonly StoredEvaluation[]): DoneJob {
  const [first, last] = [all[0], all.at(-1)];
  if (first === undefined || last === undefined) throw new LabError("internal", `${job.name} has no evaluation`);
  const before = first.rows.filter(({ part }) => part !== "selection");
  const byId = new Map(last.rows.map((row) => [row.rowId, row]));
  const after = before.map(({ rowId }) => {
    const row = byId.get(rowId);
    if (row !== undefined) return row;
    throw badInput(`${job.name}: row ${rowId} is missing in the last evaluation`, job.name);
  });
  return { job, run, before, after, evaluations: all.map(({ report }) => report) };
}

/**
 * One result per variant with a finished job, in the plan's order.
 * @throws LabError("bad-input") if seeds of a variant were scored on different rows
 */
export function variantResults(jobs: readonly DoneJob[], metrics: readonly ScoreId[]): VariantResult[] {
  const names = [...new Set(jobs.map(({ job }) => job.variant))];
  return names.map((variant) => {
    const own = jobs.filter(({ job }) => job.variant === variant);
    const first = own[0] as DoneJob;
    const ids = JSON.stringify(first.before.map(({ rowId }) => rowId));
    const other = own.find(({ before }) => JSON.stringify(before.map(({ rowId }) => rowId)) !== ids);
    if (other !== undefined) {
      throw badInput(`${first.job.name} and ${other.job.name} are scored on different rows`, other.job.name);
    }
    const images = first.before.map(({ imageId }) => imageId);
    const found = metrics.flatMap((metric) => {
      const result = metricResult(own, images, metric);
      return result === null ? [] : [[metric, result] as const];
    });
    return {
      variant,
      jobs: own,
      rows: images.length,
      images: new Set(images).size,
      metrics: Object.fromEntries(found) as VariantResult["metrics"],
    };
  });
}

function metricResult(jobs: readonly DoneJob[], pictures: readonly string[], metric: ScoreId): MetricResult | null {
  const pairs = jobs.map(({ before, after }) =>
    before.map((row, at) => [rowScoreOf(row, metric), rowScoreOf(after[at] as RowScores, metric)] as const),
  );
  const known = [...pictures.keys()].filter((row) => pairs.every((own) => !own[row]?.includes(null)));
  if (known.length === 0) return null;
  const images = known.map((row) => pictures[row] as string);
  const scored = pairs.map((own) => known.map((row) => own[row] as readonly [number, number]));
  const differences = scored.map((own) => own.map(([then, now]) => now - then));
  const start = scored.flat().reduce((sum, [then]) => sum + then, 0) / scored.flat().length;
  const seeds = jobs.map(({ job }, at) => ({
    seed: job.seed,
    difference: bootstrapMean(differences[at] as number[], images, SEED),
  }));
  return {
    rows: images.length,
    images: new Set(images).size,
    start,
    all: jobs.length < 2 ? null : crossedBootstrap(differences, images, SEED),
    runs: jobs.length < 2 ? null : runInterval(seeds.map(({ difference }) => difference.mean)),
    seeds,
  };
}
