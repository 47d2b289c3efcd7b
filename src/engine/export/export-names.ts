/** Display names of the exports that need no base checkpoint, those of plug-ins last. */
import { PLUGINS, type PluginExport } from "../../plugins/list.ts";
import type { Plugin } from "../../plugins/plugin.ts";

const CORE_EXPORTS = {
  peft: "Adapter of the policy (PEFT)",
  "peft-ema": "Adapter of the partner (PEFT)",
  csv: "Tables (CSV) and pictures",
  tfevents: "TensorBoard events",
} as const;

export type CoreExport = keyof typeof CORE_EXPORTS;
export type RunExport = CoreExport | PluginExport;

export const RUN_EXPORTS = Object.assign(
  {},
  CORE_EXPORTS,
  ...PLUGINS.map((plugin: Plugin) => plugin.exports ?? {}),
) as Readonly<Record<RunExport, string>>;
