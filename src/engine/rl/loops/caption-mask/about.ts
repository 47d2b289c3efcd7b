import type { LoopAbout } from "../about.ts";

export const CAPTION_MASK = {
  id: 2,
  arrow: "caption → mask → partner's caption",
  task: "caption → mask",
  why: "The partner describes each mask, and the reward compares its caption with the given one. A mask on another object leads to another caption, so masks of the described object earn more",
  samples: "mask",
  mask: "policy",
  text: "captionPrime",
  textName: "partner's caption",
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
  presets: [
    {
      name: "repair",
      title: "Repair masks",
      pocketModel: "damaged-model",
      demoSet: { rows: "pocket/shards/" },
      summary: "Loop 2 alone, from a pocket model whose masks were damaged: it learns from captions where objects are",
      evidence:
        "With every tested seed METEOR of held-out rows rises by about 0.04 and their IoU by about 0.09 in 40 steps; with shuffled rewards neither does",
      values: {
        // Trains the mask modules, and nothing else.
        learningRate: 1.2e-3,
        loop2Weight: 1,
        loop2Reach: "masks",
        maskRateFactor: 0.1,
        maskPolicy: "proposals",
        embeddingSigma: 1,
        proposalTemperature: 4,
        maskAnchor: "none",
        beta: 0,
        promptsPerStep: 8,
      },
    },
  ],
} as const satisfies LoopAbout;
