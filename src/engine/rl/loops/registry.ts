/** The code of every loop; abouts.ts describes them. */
import { PLUGIN_LOOPS } from "../../../plugins/loops.ts";
import type { LoopId } from "./abouts.ts";
import { captionMask } from "./caption-mask/rollout.ts";
import type { Loop } from "./loop.ts";
import { maskCaption } from "./mask-caption/rollout.ts";

export const LOOP_CODE: Readonly<Record<LoopId, Loop>> = {
  1: maskCaption,
  2: captionMask,
  ...PLUGIN_LOOPS,
};
