/** Exports of a stored run as one zip; browsers keep the pieces of a large Blob on disk. */
import { rowsHash } from "../src/engine/data/open-rows.ts";
import type { RegionSet } from "../src/engine/data/region-set.ts";
import type { RegionSample } from "../src/engine/data/sample.ts";
import type { RunExport } from "../src/engine/export/export-names.ts";
import { exportFiles } from "../src/engine/export/formats.ts";
import type { ExportSamples } from "../src/engine/export/sa2va.ts";
import { zipFiles } from "../src/engine/export/zip-files.ts";
import { openRun } from "../src/engine/runs/run-folder.ts";
import type { RunStore } from "../src/engine/runs/store.ts";

/** @param set the open rows; they go along when they are those the run was trained on */
export async function exportZip(
  store: RunStore,
  runId: string,
  format: RunExport,
  set: RegionSet | null,
): Promise<{ readonly blob: Blob; readonly fileName: string }> {
  const run = await openRun(store, runId);
  const { data, created } = run.manifest();
  const rows = set?.summaries.map(({ id, imageId }) => [id, imageId] as const) ?? [];
  const same = set !== null && (await rowsHash(rows)) === data.hash;
  const files = await exportFiles(run, format, same ? samplesOf(set) : null);
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
