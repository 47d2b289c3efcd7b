import type { LoopAbout } from "../about.ts";

export const CAPTION_MASK = {
  id: 2,
  arrow: "caption → mask → caption′",
  task: "caption → mask",
  samples: "mask",
  mask: "policy",
  text: "captionPrime",
  textName: "caption′",
  heldOut: "METEOR",
  terms: { meteor: 0.25, judge: 0.75 },
  matrices: {
    standard: { terms: { meteor: 0.25, judge: 0.75 }, text: "¼ METEOR + ¾ judge" },
    noJudge: { terms: { meteor: 1 }, text: "METEOR alone" },
    judgeCaptions: { terms: { meteor: 1 }, text: "METEOR" },
    shaped: { terms: { meteor: 0.25, judge: 0.75, length: 0.1, repetition: 0.2 } },
  },
  // A low weight and a strong anchor, which also protects the masks from drifting adapters.
  pocket: { loop2Weight: 0.1, maskAnchorWeight: 160 },
  // Sampled and shown without an update, because an update does not raise its reward further (docs/learning.md).
  demo: { loop2Weight: 0 },
  alone: {
    summary: "Caption → mask → caption′, reward METEOR",
    evidence:
      "No gain is confirmed from the pocket model's own masks. From damaged masks loop 2 gains 0.1 IoU by captions alone, with the settings of experiments/loop2-cycle.yaml",
    values: { learningRate: 1.2e-3, loop2Weight: 1, loop2Reach: "masks", maskRateFactor: 0.1, maskAnchorWeight: 16 },
  },
} as const satisfies LoopAbout;
