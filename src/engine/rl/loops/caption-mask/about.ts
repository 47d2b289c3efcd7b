import type { LoopAbout } from "../about.ts";

export const CAPTION_MASK = {
  id: 2,
  arrow: "caption → mask → caption′",
  task: "caption → mask",
  text: "captionPrime",
} as const satisfies LoopAbout;
