/** Exports of a stored run as one zip; browsers keep the pieces of a large Blob on disk. */
import { rowsHash } from "../src/engine/data/open-rows.ts";
import type { RegionSet } from "../src/engine/data/region-set.ts";
import type { RunExport } from "../src/engine/export/export-names.ts";
import { exportFiles } from "../src/engine/export/formats.ts";
import { exportRows } from "../src/engine/export/rows.ts";
import { zipFiles } from "../src/engine/export/zip-files.ts";
import type { PictureOf } from "../src/engine/runs/rollout-picture.ts";
import { openRun } from "../src/engine/runs/run-folder.ts";
import type { RunStore } from "../src/engine/storage/store.ts";

/**
 * @param set the open rows; the run's training rows go along when they are those it drew from
 * @param pictureOf pictures of open rows
 */
export async function exportZip(
  store: RunStore,
  runId: string,
  format: RunExport,
  set: RegionSet | null,
  pictureOf: PictureOf,
): Promise<{ readonly blob: Blob; readonly fileName: string; readonly note: string | null }> {
  const run = await openRun(store, runId);
  const manifest = run.manifest();
  const open = set?.summaries.map(({ id, imageId }) => [id, imageId] as const) ?? [];
  const same = set !== null && (await rowsHash(open)) === manifest.data.hash;
  const rows = same ? await exportRows(manifest, set, manifest.data.name) : null;
  // TensorBoard takes a folder for an event file when its name holds "tfevents".
  const name = `${runId}-${format === "tfevents" ? "tensorboard" : format}`;
  const parts: Blob[] = [];
  for await (const piece of zipFiles(
    await exportFiles(run, format, rows, pictureOf),
    name,
    new Date(manifest.created),
  )) {
    parts.push(new Blob([piece]));
  }
  const note =
    rows === null && format === "sa2va" ? `without annotations: open ${manifest.data.name} to include them` : null;
  return { blob: new Blob(parts, { type: "application/zip" }), fileName: `${name}.zip`, note };
}
