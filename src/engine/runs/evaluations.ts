/** Evaluations of a run: `eval.jsonl`, one line each with its report and the rows it was computed from. */
import type { Rle } from "../data/rle.ts";
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
  /** caption′: what the partner says of that mask. */
  readonly captionPrime: string;
};

export interface EvalReport {
  readonly step: number;
  readonly n: number;
  readonly means: Readonly<Record<EvalMetric, number>>;
  /** 95 % bootstrap interval of each mean. */
  readonly ci: Readonly<Record<EvalMetric, readonly [number, number]>>;
  /** Mean paired difference to the first evaluation of the run with its interval; null for the first itself. */
  readonly difference: Readonly<Record<EvalMetric, Interval>> | null;
}

export interface StoredEvaluation {
  readonly report: EvalReport;
  readonly rows: readonly RowScores[];
}

const pathOf = (runId: string): string => `${runId}/eval.jsonl`;

/** Evaluations so far, oldest first; empty when there are none. */
export async function readEvaluations(store: RunStore, runId: string): Promise<readonly StoredEvaluation[]> {
  if ((await store.size(pathOf(runId))) === null) return [];
  const lines = (await store.readText(pathOf(runId))).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as StoredEvaluation);
}

/** Replaces the evaluations of a run. */
export async function writeEvaluations(
  store: RunStore,
  runId: string,
  evaluations: readonly StoredEvaluation[],
): Promise<void> {
  await store.write(pathOf(runId), evaluations.map((stored) => `${JSON.stringify(stored)}\n`).join(""));
}
