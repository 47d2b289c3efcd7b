/**
 * Evaluations of a run: `eval.jsonl`, one line each with its report and the rows it was computed from. Held-out rows
 * have two parts: the selection part chooses the best checkpoint; every other number is computed from the report part
 * alone.
 */
import * as z from "zod/mini";
import { fits, parseJson } from "../../bytes/json.ts";
import type { LabConfig } from "../../config/table.ts";
import type { Rle } from "../../data/mask/rle.ts";
import { badInput, type LabError } from "../../errors.ts";
import type { LoopId } from "../../rl/loops/abouts.ts";
import type { RunStore } from "../../storage/store.ts";
import {
  EVAL_METRICS,
  type EvalMetric,
  PARTNER_SCORES,
  REWARD_METRICS,
  type RewardMetric,
  SEGMENTATION_METRICS,
  type SegmentationMetric,
  type TruthMetric,
} from "./evaluation-metrics.ts";

// Schema of `eval.jsonl`: everything that the views of an evaluation need. A number that is not finite is stored
// as null.

const number = z.nullable(z.number());
const count = z.number().check(z.gte(0), z.int());
const interval = z.looseObject({ mean: number, low: number, high: number });
const of = <T extends z.ZodMiniType>(names: readonly string[], shape: T) =>
  z.looseObject(Object.fromEntries(names.map((name) => [name, shape])));

const REPORT = z.looseObject({
  step: count,
  n: count,
  means: of(EVAL_METRICS, number),
  ci: of(EVAL_METRICS, z.tuple([number, number])),
  difference: z.nullable(of(EVAL_METRICS, interval)),
  segmentation: of(SEGMENTATION_METRICS, z.looseObject({ value: number, difference: z.nullable(interval) })),
  partner: of(
    Object.keys(PARTNER_SCORES),
    z.looseObject({ mean: number, low: number, high: number, difference: interval }),
  ),
  sources: z.optional(z.record(z.string(), z.looseObject({ n: count, means: of(EVAL_METRICS, number) }))),
  reward: z.looseObject({
    judge: z.enum(["asked", "left-out", "none"]),
    scores: of(
      REWARD_METRICS,
      // Builds with fewer loops write fewer.
      z.optional(
        z.nullable(
          z.looseObject({ mean: number, low: number, high: number, n: count, difference: z.nullable(interval) }),
        ),
      ),
    ),
  }),
  selection: z.nullable(z.looseObject({ metric: z.string(), n: count, value: number })),
  maskPolicy: z.string(),
  baseline: z.optional(count),
});

const MASK = z.looseObject({ size: z.tuple([count, count]), counts: z.string() });
const DRAWN = z.array(
  z.looseObject({
    caption: z.string(),
    mask: z.nullable(MASK),
    score: number,
    weight: number,
  }),
);

const ROW = z.extend(of(EVAL_METRICS, number), {
  rowId: z.string(),
  imageId: z.string(),
  groundingPixels: z.tuple([z.int(), z.int()]),
  part: z.enum(["selection", "report"]),
  partnerMask: z.nullable(MASK),
  partnerIou: number,
  partnerCaption: z.string(),
  partnerMeteor: number,
  drawn: z.record(z.string(), DRAWN),
  rewards: of(REWARD_METRICS, z.optional(number)),
  parts: z.optional(z.record(z.string(), z.record(z.string(), z.number()))),
  judge: z.optional(z.looseObject({ calls: count, cost: z.number() })),
});

const EVALUATION = z.looseObject({ report: REPORT, rows: z.array(ROW) });

export * from "./evaluation-metrics.ts";

/** Scores that can choose the best checkpoint (setting bestMetric). */
export type SelectionMetric = LabConfig["bestMetric"];

/** A mean with its 95 % bootstrap interval over images. */
export interface Interval {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

/** Purpose of a held-out row. */
export type RowPart = "selection" | "report";

/** Scores of one held-out row, with its texts and masks. */
export type RowScores = Readonly<Record<EvalMetric, number>> & {
  readonly part: RowPart;
  /** The run's reward; null for a loop that does not train, and if no rollout got a verdict. */
  readonly rewards: Readonly<Partial<Record<RewardMetric, number | null>>>;
  /** By loop, what each weighted term adds to the reward of the sampled rollouts; the Python package does not store it. */
  readonly parts?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Requests to the judge and their cost; absent if none was sent. */
  readonly judge?: { readonly calls: number; readonly cost: number };
  readonly rowId: string;
  readonly imageId: string;
  readonly caption: string;
  /** The policy's caption without sampling. */
  readonly captionGreedy: string;
  /** mask′: the partner's mask for that caption; null for an empty one. */
  readonly maskPrime: Rle | null;
  /** The policy's mask for the true caption. */
  readonly maskGreedy: Rle;
  /** Intersection and union of this mask and the true one, in pixels. */
  readonly groundingPixels: readonly [intersection: number, union: number];
  /** caption′: the partner's caption of that mask. */
  readonly captionPrime: string;
  /** The partner's mask for the true caption, its IoU, its caption of the true mask and METEOR. */
  readonly partnerMask: Rle | null;
  readonly partnerIou: number;
  readonly partnerCaption: string;
  readonly partnerMeteor: number;
  /** Sampled rollouts of each loop; their mean is its sampled score. */
  readonly drawn: Readonly<Partial<Record<LoopId, readonly Drawn[]>>>;
};

/** A sampled rollout of a held-out row. */
export interface Drawn {
  /** Generated text that is rewarded. */
  readonly caption: string;
  readonly mask: Rle | null;
  /** The loop's score of the rollout, 0 to 1; null if the loop has only rewards. */
  readonly score: number | null;
  /** Its weight in the mean of the row; the weights sum to 1. */
  readonly weight: number;
}

export interface SegmentationScore {
  readonly value: number;
  /** Difference from the first evaluation over the same rows, with its interval; null for the first itself. */
  readonly difference: Interval | null;
}

/** The judge's part in the run's reward: called, left out of the evaluation, or not a term. */
export type JudgeUse = "asked" | "left-out" | "none";

/** The run's reward over the report rows that have one, and had one in the baseline. */
export interface RewardScore extends Interval {
  /** Number of rows in the mean. */
  readonly n: number;
  /** Paired difference from the baseline over the same rows; null for the baseline itself. */
  readonly difference: Interval | null;
}

/** Choice of the best checkpoint: the mean of a score over the selection rows. */
export interface Selection {
  readonly metric: SelectionMetric;
  /** Number of rows in the mean. */
  readonly n: number;
  /** Null if a row lacks the score; the evaluation then chooses nothing. */
  readonly value: number | null;
}

/** All numbers except `selection` are computed from the report rows alone. */
export interface EvalReport {
  readonly step: number;
  /** Report rows. */
  readonly n: number;
  readonly means: Readonly<Record<EvalMetric, number>>;
  /** 95 % bootstrap interval of each mean. */
  readonly ci: Readonly<Record<EvalMetric, readonly [number, number]>>;
  /** Mean paired difference from the baseline with its interval; null for the baseline itself. */
  readonly difference: Readonly<Record<EvalMetric, Interval>> | null;
  /** Scores of masks for true captions, computed as in segmentation papers. */
  readonly segmentation: Readonly<Record<SegmentationMetric, SegmentationScore>>;
  /**
   * The partner's (EMA) scores on the data set's captions and masks, over the report rows, with the paired difference
   * from the policy's.
   */
  readonly partner: Readonly<Record<TruthMetric, Interval & { readonly difference: Interval }>>;
  /** Report rows and mean scores by source of the mix; absent without one. */
  readonly sources?: Readonly<
    Record<string, { readonly n: number; readonly means: Readonly<Record<EvalMetric, number>> }>
  >;
  /** A loop that does not train has null. */
  readonly reward: {
    readonly judge: JudgeUse;
    readonly scores: Readonly<Record<RewardMetric, RewardScore | null>>;
  };
  /** Null if there are no selection rows. */
  readonly selection: Selection | null;
  /** Mask policy that sampled loop 2. */
  readonly maskPolicy: LabConfig["maskPolicy"];
  /** Step of the baseline of differences; absent in the baseline itself. */
  readonly baseline?: number;
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
    badInput(`${place} is not ${what}; the file is kept as it is`, place, cause);
  let value: unknown;
  try {
    value = parseJson(line, place);
  } catch (thrown) {
    throw bad("valid JSON", thrown);
  }
  if (!fits(value, EVALUATION)) throw bad("an evaluation with its step, means, intervals and rows");
  const stored = value as unknown as StoredEvaluation;
  const [{ n }, { length }] = [stored.report, stored.rows];
  if (n > length) throw bad(`whole: it reports ${n} rows and holds ${length}`);
  return stored;
}

/** Removes the evaluations of later steps. @throws LabError("bad-input") naming a line that is damaged */
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
