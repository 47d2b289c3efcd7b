/** Names of held-out scores. */
import { HELD_OUT_LOOPS, type HeldOutLoop, LOOP_IDS, type LoopId } from "../../rl/loops/abouts.ts";

/** Scores that mean the same in every run: IoU and METEOR, whatever the reward of the run. */
export type EvalMetric = `loop${HeldOutLoop}_${"sampled" | "greedy"}` | TruthMetric;
/** Scores of answers against the data set alone. They need one set of weights, so policy and partner each have them. */
export type TruthMetric = "grounding_iou" | "caption_meteor";
/** Greedy scores first: sampled ones also rise where answers only become less random. */
export const EVAL_METRICS: readonly EvalMetric[] = [
  ...HELD_OUT_LOOPS.flatMap(({ id }) => [`loop${id}_greedy`, `loop${id}_sampled`] as const),
  "grounding_iou",
  "caption_meteor",
];

/** The partner's score of a row for each. */
export const PARTNER_SCORES = { grounding_iou: "partnerIou", caption_meteor: "partnerMeteor" } as const;

/** The run's reward, composed as in training: all terms with their weights, including judge and custom reward. */
export type RewardMetric = `reward${LoopId}_${"sampled" | "greedy"}`;
export const REWARD_METRICS: readonly RewardMetric[] = LOOP_IDS.flatMap((id) => {
  return [`reward${id}_greedy`, `reward${id}_sampled`] as const;
});

/** Minimum IoU at which a row counts as found, by the name of the score. */
export const SEGMENTATION_BOUNDS = { precision_50: 0.5, precision_70: 0.7, precision_90: 0.9 } as const;
export const SEGMENTATION_METRICS = ["giou", "ciou", "precision_50", "precision_70", "precision_90"] as const;
export type SegmentationMetric = (typeof SEGMENTATION_METRICS)[number];

// Random draws of held-out evaluations, the same in every run, so that runs can be compared.

/** Sampled captions per row, and masks if the mask policy samples. */
export const EVAL_DRAWS = 4;
/** Stream number, different from those of training. */
export const EVAL_STREAM = 65;
/** Independent of the run's seed. */
export const EVAL_SEED = 20_260_101;
