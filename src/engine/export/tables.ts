/** Metrics of a run for spreadsheets and TensorBoard, the design notes' names repeated beside the logged ones. */
import { metricsCsv } from "../runs/csv.ts";
import { withAliases } from "../runs/metric-table.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import { metricEvents, tfevents, tfeventsName } from "../runs/tfevents.ts";
import { type ExportFiles, wholeFile } from "./export-file.ts";

/** metrics.csv */
export async function* csvFiles(run: RunFolder): ExportFiles {
  yield wholeFile("metrics.csv", metricsCsv((await run.readMetrics()).map(withAliases)));
}

/** One event file; wall times are the run's start plus the time of its steps. */
export async function* tfeventsFiles(run: RunFolder): ExportFiles {
  const start = new Date(run.manifest().created).getTime() / 1000;
  const rows = (await run.readMetrics()).map(withAliases);
  yield wholeFile(tfeventsName(start), tfevents(start, metricEvents(start, rows)));
}
