/** The held-out scores in words. */
import type { EvalMetric } from "../../../engine/runs/evaluations.ts";

export interface EvalMetricText {
  readonly id: EvalMetric;
  readonly title: string;
  readonly help: string;
}

export const EVAL_TEXTS: readonly EvalMetricText[] = [
  {
    id: "loop1_sampled",
    title: "Loop 1, sampled",
    help: "mask → caption → mask′: IoU of captions drawn at temperature 1, four a row",
  },
  { id: "loop1_greedy", title: "Loop 1, greedy", help: "The same with the policy's most likely caption" },
  {
    id: "loop2_sampled",
    title: "Loop 2, sampled",
    help: "caption → mask → caption′: METEOR over SAM2's candidates, weighted by their probability",
  },
  { id: "loop2_greedy", title: "Loop 2, greedy", help: "The same with the candidate of the highest predicted IoU" },
  { id: "grounding_iou", title: "Grounding", help: "IoU of the mask for the true caption: falls when masks drift" },
  {
    id: "caption_meteor",
    title: "Captions",
    help: "METEOR of the greedy caption against the true one: falls when a private language forms",
  },
];
