import type { LoopAbout } from "../about.ts";

export const MASK_CAPTION = {
  id: 1,
  arrow: "mask → caption → mask′",
  task: "mask → caption",
  text: "caption",
} as const satisfies LoopAbout;
