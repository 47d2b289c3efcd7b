import type { Phase } from "../../../engine/rl/run/events.ts";

/** One sentence about each phase. */
export const PHASE_TEXTS: Readonly<Record<Phase, string>> = {
  sample: "Selects the rows of the step by seed and reads their pictures and masks from the data worker",
  features: "Runs both frozen towers once per picture; features of known pictures come from the cache in host memory",
  generate: "Samples captions of all groups in one batch and samples masks for the given captions",
  partner: "The partner computes masks for the policy's captions, and captions for its masks",
  reward:
    "Compares outputs with the ground truth: IoU of masks, METEOR of captions, and the judge if one is set. Also computes the masks for the anchor",
  advantage:
    "Computes advantages from the rewards of each group in double precision, and the reference log-probabilities",
  loss: "One forward and one backward pass per group: log-probabilities, loss, and the gradient of every trained tensor",
  update: "Clips the gradient norm and updates the trained tensors with AdamW",
  ema: "Updates the EMA partner",
  log: "Writes rollouts and metrics to the run folder and releases free GPU buffers",
  eval: "Evaluates the held-out rows with the current weights",
  checkpoint: "Reads back and stores weights, moments and EMA",
};
