/**
 * Masks for the captions of any rows, counted as referring segmentation: the pixels of all rows together (cIoU), the mean
 * of the rows' IoU (gIoU), the share of rows that reach a bound (P@x) (docs/spec/evaluation.md#15-counting).
 */
import { maskIou, mergeRles, type Rle, rleArea } from "../../engine/data/mask/rle.ts";
import { type Clusters, meanOf, ratio } from "../../engine/eval/bootstrap.ts";
import { regionRows } from "./rows.ts";
import type { AnsweredItem, AnswerMode, Suite, SuiteItem, SuiteMetric, SuiteTask } from "./suite.ts";

export const masks: Suite = {
  name: "masks",
  what: "masks for the captions of any rows",
  rule: "all masks of a caption united; no mask counts as an empty mask",
  split: "",
  judged: false,
  published: {},
  open: (folder, split, signal) => regionRows(folder, split, signal, false),
  task: segmentTask,
  metrics: maskMetrics,
  score: (row) => sentenceIou(overlapOf(row)),
};

/** The published question about a sentence, or the sentence with a forced [SEG]. */
export function segmentTask({ text }: SuiteItem, mode: AnswerMode): SuiteTask {
  if (mode === "forced") return { kind: "segment", phrase: text };
  return { kind: "ask", question: `Please segment ${text} in this image.`, regions: [] };
}

/** Pixel counts of a row. */
export interface Overlap {
  readonly intersection: number;
  readonly union: number;
}

/** Pixels of truth and answer, without ignored pixels. @throws LabError("bad-input") when their sizes differ */
export function overlapOf({ item, answer }: AnsweredItem): Overlap {
  const target = item.masks[0] as Rle;
  const found = unitedAnswer(answer);
  if (found === null) return { intersection: 0, union: rleArea(target) };
  const { intersection, union } = maskIou(target, found);
  const ignored = item.ignore === undefined ? 0 : maskIou(item.ignore, found).intersection;
  return { intersection, union: union - ignored };
}

/** IoU of a row in gIoU: 1 where both masks are empty. */
export function sentenceIou({ intersection, union }: Overlap): number {
  return union === 0 ? 1 : intersection / union;
}

/** All masks of an answer as one; null without a mask. */
export function unitedAnswer({ masks: found = [] }: AnsweredItem["answer"]): Rle | null {
  return found.length === 0 ? null : mergeRles(found, "union");
}

const PRECISION_BOUNDS = [0.5, 0.6, 0.7, 0.8, 0.9] as const;

/** cIoU, gIoU and P@x; a row without a pixel in either mask reaches no bound. */
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
