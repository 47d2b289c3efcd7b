import type { LoopAbout } from "../about.ts";

export const MASK_CAPTION = {
  id: 1,
  arrow: "mask → caption → partner's mask",
  task: "mask → caption",
  why: "The partner draws a mask from each caption, and the reward is its IoU with the given region. A caption that fits several objects leads to the wrong one, so captions that say which one earn more",
  samples: "text",
  mask: "partner",
  text: "caption",
  textName: "caption",
  heldOut: "IoU",
  terms: { iou: 1 },
  matrices: {
    standard: { terms: { iou: 1 }, text: "IoU" },
    noJudge: { terms: { iou: 1 }, text: "IoU" },
    judgeCaptions: { terms: { iou: 1, meteor: 0.25, judge: 0.75 }, text: "IoU + ¼ METEOR + ¾ judge" },
    shaped: {
      terms: { iou: 1, confidence: 0.2, box: 0.1, length: 0.1, repetition: 0.2, leak: 0.2 },
      text: "IoU + 0.2 confidence + 0.1 box, costs for length, repetition and leaks",
    },
  },
} as const satisfies LoopAbout;
