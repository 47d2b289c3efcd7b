/** Masks for the captions of any rows, counted as referring segmentation. */
import { mergeRles, type Rle } from "../../data/mask/rle.ts";
import { maskIou } from "../../data/mask/rle-compare.ts";
import { type Overlap, PRECISION_BOUNDS, sentenceIou, sentenceOverlap } from "../benchmarks/referring.ts";
import { type Clusters, meanOf, ratio } from "../bootstrap.ts";
import { regionRows } from "./rows.ts";
import type { AnsweredItem, AnswerMode, Suite, SuiteItem, SuiteMetric, SuiteTask } from "./suite.ts";

export const masks: Suite = {
  name: "masks",
  what: "masks for the captions of any rows",
  rule: "all masks of a caption united, no mask as an empty one",
  split: undefined,
  judged: false,
  published: {},
  open: (folder, split, signal) => regionRows(folder, split, signal, false),
  task: segmentTask,
  metrics: maskMetrics,
  score: (row) => sentenceIou(overlapOf(row)),
};

/** The published question of a sentence, or its [SEG] itself. */
export function segmentTask({ text }: SuiteItem, mode: AnswerMode): SuiteTask {
  if (mode === "forced") return { kind: "segment", phrase: text };
  return { kind: "ask", question: `Please segment ${text} in this image.`, regions: [] };
}

/** Pixels of truth and answer, without those to be ignored. */
export function overlapOf({ item, answer }: AnsweredItem): Overlap {
  const target = item.masks[0] as Rle;
  const { intersection, union } = sentenceOverlap(target, answer.masks ?? [], "sa2va-2025-10") as Overlap;
  const found = item.ignore === undefined ? null : unitedAnswer(answer);
  const ignored = found === null ? 0 : maskIou(item.ignore as Rle, found).intersection;
  return { intersection, union: union - ignored };
}

/** All masks of an answer as one; null without a mask. */
export function unitedAnswer({ masks: found = [] }: AnsweredItem["answer"]): Rle | null {
  return found.length === 0 ? null : mergeRles(found, "union");
}

/** cIoU, gIoU and P@x. */
export function maskMetrics(rows: readonly AnsweredItem[], clusters: Clusters): SuiteMetric[] {
  const overlaps = rows.map(overlapOf);
  return [
    {
      name: "cIoU",
      statistic: ratio(overlaps, clusters, ({ intersection, union }) => ({ sum: intersection, weight: union })),
    },
    { name: "gIoU", statistic: meanOf(overlaps, clusters, sentenceIou) },
    ...PRECISION_BOUNDS.map((bound) => ({
      name: `P@${bound}`,
      statistic: meanOf(overlaps, clusters, ({ intersection, union }) =>
        Number(union > 0 && intersection / union >= bound),
      ),
    })),
  ];
}
