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
} as const satisfies LoopAbout;
