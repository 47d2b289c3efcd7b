/** The code of the plug-ins' loops, by the number of the loop. */
import type { Loop } from "../engine/rl/loops/loop.ts";
import type { PluginLoop } from "./list.ts";
import { questionAnswer } from "./question-answer/rollout.ts";

export const PLUGIN_LOOPS: Readonly<Record<PluginLoop["id"], Loop>> = { 3: questionAnswer };
