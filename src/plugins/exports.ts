/** The code of the plug-ins' exports, by name. */
import type { ExportFormat } from "../engine/export/export-file.ts";
import { coco } from "./exchange/coco.ts";
import { trackio } from "./exchange/trackio.ts";
import { trlCompletions } from "./exchange/trl-completions.ts";
import { HANDOVER_EXPORTS } from "./handover/formats.ts";
import type { PluginExport } from "./list.ts";
import { REPORT_EXPORTS } from "./report/run-report.ts";

export const PLUGIN_EXPORTS: Readonly<Record<PluginExport, ExportFormat>> = {
  ...REPORT_EXPORTS,
  ...HANDOVER_EXPORTS,
  coco,
  trackio,
  "trl-completions": trlCompletions,
};
