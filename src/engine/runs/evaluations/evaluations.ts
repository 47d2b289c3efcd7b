/**
 * Evaluations of a run: `eval.jsonl`, one line each with its report and the rows it was computed from. Held-out rows
 * have two parts: the selection part chooses the best checkpoint; every other number is computed from the report part
 * alone.
 */
import * as z from "zod/mini";
import { fits, parseJson, type Stored } from "../../bytes/json.ts";
import type { LabConfig } from "../../config/table.ts";
import type { Rle } from "../../data/mask/rle.ts";
import { badInput, type LabError } from "../../errors.ts";
import { runLines } from "../lines.ts";
import {
  EVAL_METRICS,
  PARTNER_SCORES,
  REWARD_METRICS,
  SEGMENTATION_METRICS,
  type TruthMetric,
} from "./evaluation-metrics.ts";

// Schema of `eval.jsonl`: everything that the views of an evaluation need.

/** Not finite ones are stored as null. */
const number = z.custom<number>((value) => value === null || Number.isFinite(value), "a number");
/** Null where there is none. */
const known = z.nullable(z.number());
const count = z.number().check(z.gte(0), z.int());
/** A mean with its 95 % bootstrap interval over images. */
const interval = { mean: number, low: number, high: number };
const INTERVAL = z.looseObject(interval);
const of = <K extends string, T extends z.ZodMiniType>(names: readonly K[], shape: T) =>
  z.looseObject(Object.fromEntries(names.map((name) => [name, shape])) as Record<K, T>);
const named = <T extends string>() => z.custom<T>((value) => typeof value === "string", "a text");
/** Fields that views read and the reader does not check. */
const unchecked = <T>() => z.custom<T>();
const PARTNER_METRICS = Object.keys(PARTNER_SCORES) as TruthMetric[];

const SEGMENTATION = z.looseObject({
  value: number,
  /** Difference from the first evaluation over the same rows, with its interval; null for the first itself. */
  difference: z.nullable(INTERVAL),
});

/** The run's reward over the report rows that have one, and had one in the baseline. */
const REWARD = z.looseObject({
  ...interval,
  /** Number of rows in the mean. */
  n: count,
  /** Paired difference from the baseline over the same rows; null for the baseline itself. */
  difference: z.nullable(INTERVAL),
});

/** Choice of the best checkpoint: the mean of a score over the selection rows. */
const SELECTION = z.looseObject({
  metric: named<SelectionMetric>(),
  /** Number of rows in the mean. */
  n: count,
  /** Null if a row lacks the score; the evaluation then chooses nothing. */
  value: known,
});

/** All numbers except `selection` are computed from the report rows alone. */
const REPORT = z.looseObject({
  step: count,
  /** Report rows. */
  n: count,
  means: of(EVAL_METRICS, number),
  /** 95 % bootstrap interval of each mean. */
  ci: of(EVAL_METRICS, z.tuple([number, number])),
  /** Mean paired difference from the baseline with its interval; null for the baseline itself. */
  difference: z.nullable(of(EVAL_METRICS, INTERVAL)),
  /** Scores of masks for true captions, computed as in segmentation papers. */
  segmentation: of(SEGMENTATION_METRICS, SEGMENTATION),
  /**
   * The partner's (EMA) scores on the data set's captions and masks, over the report rows, with the paired difference
   * from the policy's.
   */
  partner: of(PARTNER_METRICS, z.looseObject({ ...interval, difference: INTERVAL })),
  /** Report rows and mean scores by source of the mix; absent without one. */
  sources: z.optional(z.record(z.string(), z.looseObject({ n: count, means: of(EVAL_METRICS, number) }))),
  reward: z.looseObject({
    /** The judge's part in the run's reward: called, left out of the evaluation, or not a term. */
    judge: z.enum(["asked", "left-out", "none"]),
    /** A loop that does not train has null; builds with fewer loops write fewer. */
    scores: of(REWARD_METRICS, z.optional(z.nullable(REWARD))),
  }),
  /** Null if there are no selection rows. */
  selection: z.nullable(SELECTION),
  /** Mask policy that sampled loop 2. */
  maskPolicy: named<LabConfig["maskPolicy"]>(),
  /** Step of the baseline of differences; absent in the baseline itself. */
  baseline: z.optional(count),
});

const MASK = z.looseObject({ size: z.tuple([count, count]), counts: z.string() });

/** A sampled rollout of a held-out row. */
const DRAWN = z.looseObject({
  /** Generated text that is rewarded. */
  caption: z.string(),
  mask: z.nullable(MASK),
  /** The loop's score of the rollout, 0 to 1; null if the loop has only rewards. */
  score: known,
  /** Its weight in the mean of the row; the weights sum to 1. */
  weight: number,
});

/** Scores of one held-out row, with its texts and masks. */
const ROW = z.extend(of(EVAL_METRICS, number), {
  rowId: z.string(),
  imageId: z.string(),
  part: z.enum(["selection", "report"]),
  caption: unchecked<string>(),
  /** The data set's mask; absent in evaluations of earlier versions. */
  givenMask: z.optional(MASK),
  /** The policy's caption without sampling. */
  captionGreedy: unchecked<string>(),
  /** mask′: the partner's mask for that caption; null for an empty one. */
  maskPrime: unchecked<Rle | null>(),
  /** The policy's mask for the true caption. */
  maskGreedy: unchecked<Rle>(),
  /** Intersection and union of this mask and the true one, in pixels. */
  groundingPixels: z.tuple([z.int(), z.int()]),
  /** caption′: the partner's caption of that mask. */
  captionPrime: unchecked<string>(),
  /** The partner's mask for the true caption, its IoU, its caption of the true mask and METEOR. */
  partnerMask: z.nullable(MASK),
  partnerIou: number,
  partnerCaption: z.string(),
  partnerMeteor: number,
  /** Sampled rollouts by loop; their mean is its sampled score. */
  drawn: z.record(z.string(), z.array(DRAWN)),
  /** The run's reward; null for a loop that does not train, and if no rollout got a verdict. */
  rewards: of(REWARD_METRICS, z.optional(known)),
  /** By loop, what each weighted term adds to the reward of the sampled rollouts; the Python package does not store it. */
  parts: z.optional(z.record(z.string(), z.record(z.string(), z.number()))),
  /** Requests to the judge and their cost; absent if none was sent. */
  judge: z.optional(z.looseObject({ calls: count, cost: z.number() })),
});

const EVALUATION = z.looseObject({ report: REPORT, rows: z.array(ROW) });

export * from "./evaluation-metrics.ts";

/** Scores that can choose the best checkpoint (setting bestMetric). */
export type SelectionMetric = LabConfig["bestMetric"];
export type Interval = Stored<typeof INTERVAL>;
export type SegmentationScore = Stored<typeof SEGMENTATION>;
export type RewardScore = Stored<typeof REWARD>;
export type Selection = Stored<typeof SELECTION>;
export type EvalReport = Stored<typeof REPORT>;
export type JudgeUse = EvalReport["reward"]["judge"];
export type Drawn = Stored<typeof DRAWN>;
export type RowScores = Stored<typeof ROW>;
/** Purpose of a held-out row. */
export type RowPart = RowScores["part"];
export type StoredEvaluation = Stored<typeof EVALUATION>;

/** `eval.jsonl` of a run. */
export const EVALUATIONS = runLines<StoredEvaluation>({
  file: "eval.jsonl",
  format: (stored) => JSON.stringify(stored),
  parse: parseLine,
  stepOf: ({ report }) => report.step,
  whole: true,
});

export const { read: readEvaluations, write: writeEvaluations } = EVALUATIONS;

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
  const stored = value as StoredEvaluation;
  const [{ n }, { length }] = [stored.report, stored.rows];
  if (n > length) throw bad(`whole: it reports ${n} rows and holds ${length}`);
  return stored;
}
