/** Exports of a stored run as one zip; browsers keep the pieces of a large Blob on disk. */
import type { RegionSet } from "../src/engine/data/region-set.ts";
import type { RegionSample } from "../src/engine/data/sample.ts";
import type { RunExport } from "../src/engine/export/export-names.ts";
import { exportFiles } from "../src/engine/export/formats.ts";
import type { ExportSamples } from "../src/engine/export/sa2va.ts";
import { zipFiles } from "../src/engine/export/zip-files.ts";
import { openRun } from "../src/engine/runs/run-folder.ts";
import type { RunStore } from "../src/engine/runs/store.ts";

/** @param set the open rows; they go along when the run was trained on as many of the same name */
export async function exportZip(
  store: RunStore,
  runId: string,
  format: RunExport,
  set: { readonly name: string; readonly rows: RegionSet } | null,
): Promise<{ readonly blob: Blob; readonly fileName: string }> {
  const run = await openRun(store, runId);
  const { data, created } = run.manifest();
  const same = set !== null && set.name === data.name && set.rows.summaries.length === data.rows;
  const files = await exportFiles(run, format, same ? samplesOf(set.rows) : null);
  const name = `${runId}-${format}`;
  const parts: Blob[] = [];
  for await (const piece of zipFiles(files, name, new Date(created))) parts.push(new Blob([piece]));
  return { blob: new Blob(parts, { type: "application/zip" }), fileName: `${name}.zip` };
}

function samplesOf(set: RegionSet): ExportSamples {
  return async function* rows(): AsyncGenerator<RegionSample> {
    for (const { index } of set.summaries) yield await set.sample(index);
  };
}
