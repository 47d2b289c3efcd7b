/** Modes of training beside GRPO, from plug-ins. */
import { PLUGINS, type PluginMode } from "../../plugins/list.ts";
import { added, type TrainingMode } from "../../plugins/plugin.ts";

interface Mode extends TrainingMode {
  readonly name: PluginMode;
}

const isMode = (mode: TrainingMode): mode is Mode => mode.name !== "rl";

export const MODES: readonly Mode[] = added(PLUGINS, "modes").flat().filter(isMode);
