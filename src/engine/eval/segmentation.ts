/**
 * Metrics of referring segmentation (RefCOCO) for true captions: mean IoU of the rows (gIoU), IoU of all rows' pixels
 * (cIoU), which weights large regions most, and the share of rows whose IoU reaches a threshold (P@).
 */
import {
  type RowScores,
  SEGMENTATION_BOUNDS,
  SEGMENTATION_METRICS,
  type SegmentationMetric,
  type SegmentationScore,
} from "../runs/evaluations/evaluations.ts";
import { bootstrap } from "./bootstrap.ts";
import { imageOf } from "./row-image.ts";

type Rows = readonly RowScores[];
type Statistic = (scores: Rows, rows: readonly number[]) => number;

function meanOf(of: (row: RowScores) => number): Statistic {
  return (scores, rows) => {
    let sum = 0;
    for (const row of rows) sum += of(scores[row] as RowScores);
    return sum / rows.length;
  };
}

/** 0 where no row has a pixel in either mask. */
const together: Statistic = (scores, rows) => {
  let [both, either] = [0, 0];
  for (const row of rows) {
    const [intersection, union] = (scores[row] as RowScores).groundingPixels ?? [0, 0];
    both += intersection;
    either += union;
  }
  return either === 0 ? 0 : both / either;
};

const reaching = (bound: number): Statistic => meanOf((row) => Number(row.grounding_iou >= bound));

const STATISTICS: Readonly<Record<SegmentationMetric, Statistic>> = {
  giou: meanOf((row) => row.grounding_iou),
  ciou: together,
  precision_50: reaching(SEGMENTATION_BOUNDS.precision_50),
  precision_70: reaching(SEGMENTATION_BOUNDS.precision_70),
  precision_90: reaching(SEGMENTATION_BOUNDS.precision_90),
};

/**
 * @param scores at least one row
 * @param first scores of the same rows at the start, for paired differences
 * @returns undefined where rows were scored without their pixel counts
 */
export function segmentationScores(
  scores: Rows,
  first: Rows | null,
  seed: number,
): Readonly<Record<SegmentationMetric, SegmentationScore>> | undefined {
  const counted = (rows: Rows): boolean => rows.every(({ groundingPixels }) => groundingPixels !== undefined);
  if (!counted(scores)) return undefined;
  const before = first !== null && counted(first) ? first : null;
  const all = scores.map((_, row) => row);
  const images = scores.map(imageOf);
  const score = (statistic: Statistic): SegmentationScore => ({
    value: statistic(scores, all),
    difference:
      before === null ? null : bootstrap(images, seed, (rows) => statistic(scores, rows) - statistic(before, rows)),
  });
  const found = SEGMENTATION_METRICS.map((metric) => [metric, score(STATISTICS[metric])] as const);
  return Object.fromEntries(found) as Readonly<Record<SegmentationMetric, SegmentationScore>>;
}
