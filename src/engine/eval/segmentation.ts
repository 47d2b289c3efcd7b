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
import { bootstrapClusters, type ClusterStatistic, type Clusters, clustersBy, meanOf, ratio } from "./bootstrap.ts";

type Rows = readonly RowScores[];

const reaching =
  (bound: number) =>
  (rows: Rows, clusters: Clusters): ClusterStatistic =>
    meanOf(rows, clusters, (row) => Number(row.grounding_iou >= bound));

const STATISTICS: Readonly<Record<SegmentationMetric, (rows: Rows, clusters: Clusters) => ClusterStatistic>> = {
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
export function segmentationScores(
  scores: Rows,
  first: Rows | null,
  seed: number,
): Readonly<Record<SegmentationMetric, SegmentationScore>> {
  const clusters = clustersBy(scores.map(({ imageId }) => imageId));
  const { length } = clusters.names;
  const statistics = (rows: Rows): ClusterStatistic[] =>
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
