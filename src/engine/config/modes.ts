/** Modes of training beside GRPO, from plug-ins. */
import { PLUGINS, type PluginMode } from "../../plugins/list.ts";
import { added, type TrainingMode } from "../../plugins/plugin.ts";

interface Mode extends TrainingMode {
  readonly name: PluginMode;
}

export const MODES = added(PLUGINS, "modes").flat() as readonly Mode[];
