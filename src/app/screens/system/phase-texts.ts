import type { Phase } from "../../../engine/rl/events.ts";

/** What happens in a phase, in one sentence. */
export const PHASE_TEXTS: Readonly<Record<Phase, string>> = {
  sample: "Rows of the step are drawn by seed, and their pictures and masks arrive from the data worker",
  features:
    "Both frozen towers look at each picture once; known pictures come from the cache in host memory and are only handed to the GPU",
  generate:
    "The policy acts: captions are sampled for all groups together, a few tokens a submission, and masks are drawn for the captions given",
  partner: "The moving average answers: masks for the captions of loop 1, captions for the masks of loop 2",
  reward:
    "Answers are compared with the truth: overlap of masks, METEOR of captions, a judge where one is set; masks that an anchor holds on to are computed here too",
  advantage:
    "Rewards of a group become advantages, in double precision; with a reference, its log-probabilities are computed here",
  loss: "One forward and one backward pass a group: log-probabilities, the loss over them, and the gradient of every trained tensor",
  update: "The gradient's norm is measured and clipped, and AdamW changes the trained tensors",
  ema: "The partner moves a little towards the policy",
  log: "Rollouts and metrics are written to the run folder, and free GPU buffers are given back",
  eval: "Held-out rows are scored with the weights of now",
  checkpoint: "Weights, moments and average are read back and stored",
};
