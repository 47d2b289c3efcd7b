/** Row scores as the report that tools print and the run folder keeps. */

import type { LabConfig } from "../config/table.ts";
import { parseSources, sourceAt } from "../data/sources.ts";
import type { LoopId } from "../rl/loops/abouts.ts";
import {
  EVAL_METRICS,
  type EvalMetric,
  type EvalReport,
  type Interval,
  type JudgeUse,
  PARTNER_SCORES,
  REWARD_METRICS,
  type RewardMetric,
  type RewardScore,
  type RowPart,
  type RowScores,
  readEvaluations,
  SEGMENTATION_BOUNDS,
  SEGMENTATION_METRICS,
  type SegmentationMetric,
  type SegmentationScore,
  type Selection,
  type SelectionMetric,
  type StoredEvaluation,
  type TruthMetric,
  writeEvaluations,
} from "../runs/evaluations/evaluations.ts";
import type { RunStore } from "../storage/store.ts";
import {
  bootstrapClusters,
  bootstrapMean,
  type ClusterStatistic,
  type Clusters,
  clustersBy,
  meanOf,
  ratio,
} from "./bootstrap.ts";

/** Seed of the resampling of reports, and of differences that are compared with theirs. */
export const REPORT_SEED = 1;

/** How the rows were scored, as in the report. */
export interface EvalTerms {
  readonly loops: readonly LoopId[];
  readonly bestMetric: SelectionMetric;
  readonly maskPolicy: LabConfig["maskPolicy"];
  readonly judge: JudgeUse;
  /** Sources of the mix; absent or empty without one. */
  readonly mixSources?: string;
}

type Rows = readonly RowScores[];

/** @param baseline evaluation of the same report rows for differences; null for the first one */
export function evalReport(step: number, rows: Rows, terms: EvalTerms, baseline: StoredEvaluation | null): EvalReport {
  const scores = partOf(rows, "report");
  const first = baseline === null ? null : paired(scores, partOf(baseline.rows, "report"));
  const images = scores.map(({ imageId }) => imageId);
  const intervals = EVAL_METRICS.map((metric) => {
    const values = scores.map((row) => row[metric]);
    return [metric, bootstrapMean(values, images, REPORT_SEED)] as const;
  });
  const difference = (metric: EvalMetric, before: Rows): Interval => {
    const values = scores.map((row, at) => row[metric] - (before[at] as RowScores)[metric]);
    return bootstrapMean(values, images, REPORT_SEED);
  };
  const sameJudge = baseline?.report.reward.judge === terms.judge;
  const sources = sourceMeans(scores, terms.mixSources ?? "");
  const rewards = REWARD_METRICS.map((metric) => [metric, rewardScore(metric, scores, sameJudge ? first : null)]);
  return {
    step,
    n: scores.length,
    means: Object.fromEntries(intervals.map(([metric, interval]) => [metric, interval.mean])) as EvalReport["means"],
    ci: Object.fromEntries(
      intervals.map(([metric, { low, high }]) => [metric, [low, high] as const]),
    ) as unknown as EvalReport["ci"],
    difference:
      first === null
        ? null
        : (Object.fromEntries(EVAL_METRICS.map((metric) => [metric, difference(metric, first)])) as Readonly<
            Record<EvalMetric, Interval>
          >),
    segmentation: segmentationScores(scores, first, REPORT_SEED),
    partner: partnerScores(scores),
    ...(sources === null ? {} : { sources }),
    reward: { judge: terms.judge, scores: Object.fromEntries(rewards) as Record<RewardMetric, RewardScore | null> },
    selection: selectionOf(partOf(rows, "selection"), terms),
    maskPolicy: terms.maskPolicy,
    ...(baseline === null ? {} : { baseline: baseline.report.step }),
  };
}

function partnerScores(rows: Rows): EvalReport["partner"] {
  const images = rows.map(({ imageId }) => imageId);
  const found = Object.entries(PARTNER_SCORES).map(([name, field]) => {
    const gains = rows.map((row) => row[field] - row[name as TruthMetric]);
    const score = bootstrapMean(
      rows.map((row) => row[field]),
      images,
      REPORT_SEED,
    );
    return [name, { ...score, difference: bootstrapMean(gains, images, REPORT_SEED) }] as const;
  });
  return Object.fromEntries(found) as EvalReport["partner"];
}

/** Scores of the report rows by source of the mix; null without one. */
function sourceMeans(rows: Rows, mixSources: string): NonNullable<EvalReport["sources"]> | null {
  const sources = parseSources(mixSources);
  if (sources.length === 0) return null;
  const found = sources.flatMap(({ name }, at) => {
    const own = rows.filter(({ rowId }) => sourceAt(sources, rowId) === at);
    const mean = (metric: EvalMetric): number => own.reduce((sum, row) => sum + row[metric], 0) / own.length;
    const means = Object.fromEntries(EVAL_METRICS.map((metric) => [metric, mean(metric)]));
    return own.length === 0 ? [] : [[name, { n: own.length, means: means as Record<EvalMetric, number> }] as const];
  });
  return Object.fromEntries(found);
}

function partOf(rows: Rows, part: RowPart): RowScores[] {
  return rows.filter((row) => row.part === part);
}

/** The baseline's rows in the order of `scores`; null if it lacks one. */
function paired(scores: Rows, before: Rows): Rows | null {
  const byId = new Map(before.map((row) => [row.rowId, row]));
  const found = scores.flatMap(({ rowId }) => byId.get(rowId) ?? []);
  return found.length === scores.length ? found : null;
}

/** Whether any row has a reward: a fork with other rewards keeps its parent's evaluations without them. */
export function hasRewards(rows: Rows): boolean {
  return rows.some(({ rewards }) => Object.values(rewards).some((reward) => reward !== null && reward !== undefined));
}

/**
 * The earliest evaluation with the same report rows and mask policy, the baseline of differences; for rows with rewards
 * the earliest one that has them, too.
 */
export function baselineOf(
  earlier: readonly StoredEvaluation[],
  rows: Rows,
  maskPolicy: LabConfig["maskPolicy"],
): StoredEvaluation | null {
  const scores = partOf(rows, "report");
  const suits = ({ report, rows: before }: StoredEvaluation): boolean => {
    const same = partOf(before, "report");
    return report.maskPolicy === maskPolicy && same.length === scores.length && paired(scores, same) !== null;
  };
  const suitable = earlier.filter(suits);
  return (hasRewards(rows) ? suitable.find((own) => hasRewards(own.rows)) : undefined) ?? suitable[0] ?? null;
}

/** Over the rows that have this reward in both evaluations, else over those that have it now; null where none has. */
function rewardScore(metric: RewardMetric, rows: Rows, before: Rows | null): RewardScore | null {
  const value = (row: RowScores | undefined): number | null => row?.rewards[metric] ?? null;
  const known = rows.flatMap((row, at) => {
    const now = value(row);
    return now === null ? [] : [{ image: row.imageId, now, start: value(before?.[at]) }];
  });
  const gains = known.flatMap(({ image, now, start }) => (start === null ? [] : [{ image, now, gain: now - start }]));
  const own = gains.length === 0 ? known : gains;
  if (own.length === 0) return null;
  const images = own.map(({ image }) => image);
  const score = bootstrapMean(
    own.map(({ now }) => now),
    images,
    REPORT_SEED,
  );
  const difference = gains.map(({ gain }) => gain);
  return {
    ...score,
    n: own.length,
    difference: gains.length === 0 ? null : bootstrapMean(difference, images, REPORT_SEED),
  };
}

/** The selection, null without selection rows. Its value is null unless every row has the score. */
function selectionOf(rows: Rows, { loops, bestMetric: metric }: EvalTerms): Selection | null {
  if (rows.length === 0) return null;
  const values = rows.flatMap((row) => rowValue(row, metric, loops) ?? []);
  const n = values.length;
  return { metric, n, value: n < rows.length ? null : values.reduce((sum, value) => sum + value, 0) / n };
}

/** A row's score of that name; the run reward is the mean over the loops that train. */
function rowValue(row: RowScores, metric: SelectionMetric, trained: readonly LoopId[]): number | null {
  if (metric !== "reward" && metric !== "reward_greedy") return row[metric];
  const kind = metric === "reward" ? "sampled" : "greedy";
  // A row that a loop cannot sample has no value for it.
  const names = trained
    .map((loop) => `reward${loop}_${kind}` as const)
    .filter((name) => row.rewards[name] !== undefined);
  const values = names.flatMap((name) => row.rewards[name] ?? []);
  if (values.length === 0 || values.length < names.length) return null;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/**
 * Reports scores against the run's earliest comparable evaluation before `step` and stores both. An evaluation of the
 * same step is replaced; those of later steps stay, since any checkpoint can be evaluated.
 */
export async function storeEvaluation(
  store: RunStore,
  runId: string,
  step: number,
  rows: readonly RowScores[],
  terms: EvalTerms,
): Promise<EvalReport> {
  const stored = await readEvaluations(store, runId);
  const before = stored.filter((other) => other.report.step < step);
  const after = stored.filter((other) => other.report.step > step);
  const report = evalReport(step, rows, terms, baselineOf(before, rows, terms.maskPolicy));
  await writeEvaluations(store, runId, [...before, { report, rows }, ...after]);
  return report;
}

// Metrics of referring segmentation (RefCOCO) for true captions: mean IoU of the rows (gIoU), IoU of all rows' pixels
// (cIoU), which weights large regions most, and the share of rows whose IoU reaches a threshold (P@).

type SegmentedRows = readonly RowScores[];

const reaching =
  (bound: number) =>
  (rows: SegmentedRows, clusters: Clusters): ClusterStatistic =>
    meanOf(rows, clusters, (row) => Number(row.grounding_iou >= bound));

const STATISTICS: Readonly<Record<SegmentationMetric, (rows: SegmentedRows, clusters: Clusters) => ClusterStatistic>> =
  {
    giou: (rows, clusters) => meanOf(rows, clusters, (row) => row.grounding_iou),
    ciou: (rows, clusters) => {
      const pixels = ratio(rows, clusters, ({ groundingPixels: [sum, weight] }) => ({ sum, weight }));
      // 0 if no row has a pixel in either mask; without rows there is no value, as for the other metrics.
      return (drawn) => pixels(drawn) || (drawn.length === 0 ? Number.NaN : 0);
    },
    precision_50: reaching(SEGMENTATION_BOUNDS.precision_50),
    precision_70: reaching(SEGMENTATION_BOUNDS.precision_70),
    precision_90: reaching(SEGMENTATION_BOUNDS.precision_90),
  };

/**
 * @param scores at least one row
 * @param first scores of the same rows at the start, for paired differences
 */
function segmentationScores(
  scores: SegmentedRows,
  first: SegmentedRows | null,
  seed: number,
): Readonly<Record<SegmentationMetric, SegmentationScore>> {
  const clusters = clustersBy(scores.map(({ imageId }) => imageId));
  const { length } = clusters.names;
  const statistics = (rows: SegmentedRows): ClusterStatistic[] =>
    SEGMENTATION_METRICS.map((metric) => STATISTICS[metric](rows, clusters));
  const now = statistics(scores);
  const before = first === null ? null : statistics(first);
  const gains = now.map(
    (statistic, at): ClusterStatistic =>
      (drawn) =>
        statistic(drawn) - (before?.[at]?.(drawn) ?? 0),
  );
  const every = clusters.names.map((_, cluster) => cluster);
  const differences = before === null ? [] : bootstrapClusters(length, seed, gains);
  const found = SEGMENTATION_METRICS.map((metric, at): [SegmentationMetric, SegmentationScore] => [
    metric,
    { value: (now[at] as ClusterStatistic)(every), difference: differences[at] ?? null },
  ]);
  return Object.fromEntries(found) as Record<SegmentationMetric, SegmentationScore>;
}
