/** Types of an evaluation suite: its rows, the tasks for the model, and the metrics of its answers. */
import type { ByteFolder } from "../../engine/bytes/source.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import type { EncodedImage } from "../../engine/data/sample.ts";
import type { ClusterStatistic, Clusters } from "../../engine/eval/bootstrap.ts";
import type { JudgeQuestion } from "../../engine/rewards/judge-score.ts";
import type { Clip } from "../data-sets/clip-set.ts";

/** Name of the source of a suite's pictures. */
export const SUITE = "suite";

/** A row of a suite: a question about a picture or a clip, with the truth. */
export interface SuiteItem {
  readonly id: string;
  /** Rows of one picture are adjacent. */
  readonly imageId: string;
  /** The picture's id as the data give it, where numbers and names are sorted differently; the row's id if absent. */
  readonly pictureId?: string | number | undefined;
  /** Height and width of the picture. */
  readonly size: readonly [height: number, width: number];
  /** The sentence, the true caption or the question; the class name for DLC-Bench. */
  readonly text: string;
  /**
   * Masks of the picture's size: targets, or regions that are asked about. None for a sentence without a target; one
   * per frame of a clip.
   */
  readonly masks: readonly Rle[];
  /** Pixels that count neither as found nor as missed; none of them are in the masks. */
  readonly ignore?: Rle;
  /** Pixels of all annotated objects of each frame of a clip (ReVOS). */
  readonly foreground?: readonly number[];
  /** Phrase of each mask (grounded conversations). */
  readonly labels?: readonly string[];
  /** Kind of question within the suite. */
  readonly kind?: string;
  /** The true answer, if the text is a question. */
  readonly answer?: string;
  /** Questions that a judge answers about the caption, recognition first. */
  readonly questions?: readonly JudgeQuestion[];
}

/** A model's answer. */
export interface SuiteAnswer {
  /** Caption or free answer, special tokens kept. */
  readonly text?: string;
  /** One per [SEG], in order; for a clip one per frame, from the first [SEG]. */
  readonly masks?: readonly Rle[];
}

/** A judge's verdict about a caption, −1..1; 0 or 1 if it only agrees or disagrees. */
export interface Verdict {
  readonly positive: number;
  /** Null without negative questions. */
  readonly negative: number | null;
  /** Name of the judge; absent in files that lack it. */
  readonly judge?: string;
  /** Hash of the questions it answered. */
  readonly questions?: string;
}

/**
 * Pictures of a row that the published judge sees: the whole picture with its masks, or with crops around each mask.
 */
export type JudgeSees = "masks" | "crops";

/** A row with its answer. */
export interface AnsweredItem {
  readonly item: SuiteItem;
  readonly answer: SuiteAnswer;
  /** Absent until a judge has read the answer. */
  readonly judged?: Verdict | undefined;
}

/** A task for the model. */
export type SuiteTask =
  | { readonly kind: "segment"; readonly phrase: string }
  | { readonly kind: "describe"; readonly region: Rle }
  /** A masklet through a clip: a mask for each frame. */
  | { readonly kind: "follow"; readonly phrase: string; readonly answers: AnswerMode }
  /** A free answer; regions are named region1, region2 and so on in the question. */
  | { readonly kind: "ask"; readonly question: string; readonly regions: readonly Rle[] };

/** Whether masks come from a free answer, or from a [SEG] appended to the sentence. */
export type AnswerMode = "free" | "forced";

/** Functions that metrics need. */
export interface SuiteTools {
  /** METEOR of a reference and a caption, 0..1, equal to NLTK's. */
  readonly meteor: (reference: string, caption: string) => number;
  /** Similarity 0..1 of a true phrase and a predicted one, with the name of its method; absent if there is none. */
  readonly similarity?: { readonly name: string; readonly of: (label: string, phrase: string) => number } | undefined;
}

export interface SuiteMetric {
  readonly name: string;
  readonly statistic: ClusterStatistic;
}

/** Rows of a suite, in order of their pictures. */
export interface SuiteRows {
  readonly items: readonly SuiteItem[];
  /** Reasons why rows are left out, each about a row, a picture, a file or all rows of a kind. */
  readonly leftOut: readonly string[];
  /** The picture of the item at an index. @throws LabError of its file */
  picture(index: number): Promise<EncodedImage>;
  /** The clip of the item at an index, in suites of clips, which have no single picture. */
  clip?(index: number): Clip;
}

/** A published score, 0..100. */
export interface PublishedScore {
  readonly model: string;
  /** The metric of this suite with which the value is compared. */
  readonly metric: string;
  readonly value: number;
  readonly source: string;
}

/** An evaluation suite: one file, and one line of the registry. */
export interface Suite {
  readonly name: string;
  readonly what: string;
  /** How rows are counted; part of every report. */
  readonly rule: string;
  /** Default split; empty to read all rows unless a split is named, undefined for data without splits. */
  readonly split: string | undefined;
  /** Whether a judge reads some of the answers. */
  readonly judged: boolean;
  /** Absent if the judge reads captions only. */
  readonly judgeSees?: JudgeSees;
  /** Whether a metric compares phrases by `SuiteTools.similarity`. */
  readonly similarity?: true;
  /** Published scores by split; under "" for data without splits. */
  readonly published: Readonly<Record<string, readonly PublishedScore[]>>;
  /** @throws LabError("bad-input") when the folder has no such rows, "cancelled" */
  open(folder: ByteFolder, split: string | undefined, signal?: AbortSignal): Promise<SuiteRows>;
  task(item: SuiteItem, mode: AnswerMode): SuiteTask;
  /** Metrics of all rows together; those that no row has are left out. */
  metrics(rows: readonly AnsweredItem[], clusters: Clusters, tools: SuiteTools): readonly SuiteMetric[];
  /** Score of a single row, 0..1 or −1..1, for the order of rows; null where only the set has one. */
  score(row: AnsweredItem): number | null;
}

/** Published scores of one source. */
export function publishedScores(
  source: string,
  metric: string,
  entries: Readonly<Record<string, number>>,
): PublishedScore[] {
  return Object.entries(entries).map(([model, value]) => ({ model, metric, value, source }));
}
