/** Names of held-out scores. */
import { LOOP_IDS, type LoopId } from "../rl/loops/abouts.ts";

/** Scores that mean the same in every run: IoU and METEOR, whatever a run is rewarded for. */
export const EVAL_METRICS = [
  "loop1_sampled",
  "loop1_greedy",
  "loop2_sampled",
  "loop2_greedy",
  "grounding_iou",
  "caption_meteor",
] as const;
export type EvalMetric = (typeof EVAL_METRICS)[number];

/** The run's reward, composed as in training: all terms with their weights, judge and user-written reward included. */
export type RewardMetric = `reward${LoopId}_${"sampled" | "greedy"}`;
export const REWARD_METRICS: readonly RewardMetric[] = LOOP_IDS.flatMap((id) => {
  return [`reward${id}_sampled`, `reward${id}_greedy`] as const;
});

/** IoU from which on a row counts as found, by the score's name. */
export const SEGMENTATION_BOUNDS = { precision_50: 0.5, precision_70: 0.7, precision_90: 0.9 } as const;
export const SEGMENTATION_METRICS = ["giou", "ciou", "precision_50", "precision_70", "precision_90"] as const;
export type SegmentationMetric = (typeof SEGMENTATION_METRICS)[number];
