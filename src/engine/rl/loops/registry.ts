/** The code of every loop; abouts.ts describes them. */
import type { LoopId } from "./abouts.ts";
import { captionMask } from "./caption-mask/rollout.ts";
import type { Loop } from "./loop.ts";
import { maskCaption } from "./mask-caption/rollout.ts";
import { questionAnswer } from "./question-answer/rollout.ts";

export const LOOP_CODE: Readonly<Record<LoopId, Loop>> = {
  1: maskCaption,
  2: captionMask,
  3: questionAnswer,
};
