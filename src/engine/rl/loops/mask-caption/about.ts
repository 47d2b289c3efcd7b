import type { LoopAbout } from "../about.ts";

export const MASK_CAPTION = {
  id: 1,
  arrow: "mask → caption → mask′",
  task: "mask → caption",
  samples: "text",
  mask: "partner",
  text: "caption",
  textName: "caption",
  heldOut: "IoU",
  terms: { iou: 1 },
} as const satisfies LoopAbout;
