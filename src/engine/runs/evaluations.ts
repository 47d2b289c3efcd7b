/** Evaluations of a run: `eval.jsonl`, one line each with its report and the rows it was computed from. */

import { isRecord } from "../bytes/json.ts";
import type { Rle } from "../data/rle.ts";
import { LabError } from "../errors.ts";
import type { RunStore } from "./store.ts";

export const EVAL_METRICS = [
  "loop1_sampled",
  "loop1_greedy",
  "loop2_sampled",
  "loop2_greedy",
  "grounding_iou",
  "caption_meteor",
] as const;
export type EvalMetric = (typeof EVAL_METRICS)[number];

/** IoU from which on a row counts as found, by the score's name. */
export const SEGMENTATION_BOUNDS = { precision_50: 0.5, precision_70: 0.7, precision_90: 0.9 } as const;
export const SEGMENTATION_METRICS = ["giou", "ciou", "precision_50", "precision_70", "precision_90"] as const;
export type SegmentationMetric = (typeof SEGMENTATION_METRICS)[number];

/** A mean with its 95 % bootstrap interval. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** One held-out row's scores and what was said and drawn for it. */
export type RowScores = Readonly<Record<EvalMetric, number>> & {
  readonly rowId: string;
  readonly caption: string;
  /** The policy's caption without sampling. */
  readonly captionGreedy: string;
  /** mask′: what the partner finds for that caption; null for an empty one. */
  readonly maskPrime: Rle | null;
  /** What the policy finds for the true caption. */
  readonly maskGreedy: Rle;
  /** Pixels that this mask and the true one share, and that either has; absent in evaluations of older versions. */
  readonly groundingPixels?: readonly [intersection: number, union: number];
  /** caption′: what the partner says of that mask. */
  readonly captionPrime: string;
};

export interface SegmentationScore {
  readonly value: number;
  /** Difference to the first evaluation over the same rows with its interval; null for the first itself. */
  readonly difference: Interval | null;
}

export interface EvalReport {
  readonly step: number;
  readonly n: number;
  readonly means: Readonly<Record<EvalMetric, number>>;
  /** 95 % bootstrap interval of each mean. */
  readonly ci: Readonly<Record<EvalMetric, readonly [number, number]>>;
  /** Mean paired difference to the first evaluation of the run with its interval; null for the first itself. */
  readonly difference: Readonly<Record<EvalMetric, Interval>> | null;
  /** Masks for true captions as segmentation papers count them; absent in reports of older versions. */
  readonly segmentation?: Readonly<Record<SegmentationMetric, SegmentationScore>>;
}

export interface StoredEvaluation {
  readonly report: EvalReport;
  readonly rows: readonly RowScores[];
}

const pathOf = (runId: string): string => `${runId}/eval.jsonl`;

/**
 * Evaluations so far, oldest first; empty when there are none.
 * @throws LabError("bad-input") naming a line that is damaged
 */
export async function readEvaluations(store: RunStore, runId: string): Promise<readonly StoredEvaluation[]> {
  const path = pathOf(runId);
  if ((await store.size(path)) === null) return [];
  const lines = (await store.readText(path)).split("\n");
  return lines.flatMap((line, n) => (line === "" ? [] : [parseLine(line, `${path} line ${n + 1}`)]));
}

function parseLine(line: string, place: string): StoredEvaluation {
  const bad = (what: string, cause?: unknown): LabError =>
    new LabError("bad-input", `${place} is not ${what}; the file is kept as it is`, { subject: place, cause });
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (thrown) {
    throw bad("valid JSON", thrown);
  }
  if (!isEvaluation(value)) throw bad("an evaluation with its step, means, intervals and rows");
  return value;
}

/** What everything that shows an evaluation relies on; a number that was none is stored as null. */
function isEvaluation(value: unknown): value is StoredEvaluation {
  if (!isRecord(value) || !isRecord(value.report) || !Array.isArray(value.rows)) return false;
  const { step, means, ci, difference, segmentation } = value.report;
  const all = (record: unknown, holds: (own: unknown) => boolean): boolean =>
    isRecord(record) && EVAL_METRICS.every((metric) => holds(record[metric]));
  const number = (own: unknown): boolean => typeof own === "number" || own === null;
  const interval = (own: unknown): boolean => isRecord(own) && [own.mean, own.low, own.high].every(number);
  return (
    Number.isSafeInteger(step) &&
    all(means, number) &&
    all(ci, (own) => Array.isArray(own) && own.length === 2 && own.every(number)) &&
    (difference === null || all(difference, interval)) &&
    (segmentation === undefined ||
      (isRecord(segmentation) &&
        SEGMENTATION_METRICS.every((metric) => {
          const own = segmentation[metric];
          return isRecord(own) && number(own.value) && (own.difference === null || interval(own.difference));
        }))) &&
    value.rows.every(
      (row) => isRecord(row) && typeof row.rowId === "string" && all(row, number) && isPixels(row.groundingPixels),
    )
  );
}

const isPixels = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.length === 2 && value.every(Number.isSafeInteger));

/** Drops the evaluations of steps past this one. @throws LabError("bad-input") naming a line that is damaged */
export async function truncateEvaluations(store: RunStore, runId: string, step: number): Promise<void> {
  const all = await readEvaluations(store, runId);
  const kept = all.filter(({ report }) => report.step <= step);
  if (kept.length === all.length) return;
  if (kept.length > 0) await writeEvaluations(store, runId, kept);
  else await store.remove(pathOf(runId));
}

/** Replaces the evaluations of a run. */
export async function writeEvaluations(
  store: RunStore,
  runId: string,
  evaluations: readonly StoredEvaluation[],
): Promise<void> {
  await store.write(pathOf(runId), evaluations.map((stored) => `${JSON.stringify(stored)}\n`).join(""));
}
