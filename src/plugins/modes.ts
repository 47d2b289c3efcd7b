/** The code of the plug-ins' modes of training, by the name of the mode. */
import type { Run } from "../engine/rl/run/lab.ts";
import type { Step } from "../engine/rl/step/step.ts";
import type { StepOutcome } from "../engine/rl/step/step-events.ts";
import type { PluginMode } from "./list.ts";
import { sftStep } from "./supervised/sft-step.ts";

/** One step in place of a GRPO step. @throws LabError("cancelled") when stopped, leaving the state as it was before */
type ModeStep = (run: Run, step: Step) => Promise<StepOutcome>;

export const PLUGIN_MODES: Readonly<Record<PluginMode, ModeStep>> = { sft: sftStep };
