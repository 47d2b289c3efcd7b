/** Exports of a stored run as one zip, or one page; browsers keep the pieces of a large Blob on disk. */
import { urlSource } from "../src/engine/data/blob-source.ts";
import { rowsHash } from "../src/engine/data/open-rows.ts";
import type { RegionSet } from "../src/engine/data/region-set.ts";
import { badInput } from "../src/engine/errors.ts";
import type { RunExport } from "../src/engine/export/export-names.ts";
import { exportFiles } from "../src/engine/export/formats.ts";
import { runReport } from "../src/engine/export/report/run-report.ts";
import { exportRows } from "../src/engine/export/rows.ts";
import { scaleOutFiles } from "../src/engine/export/scale-out.ts";
import type { PictureOf } from "../src/engine/runs/rollouts/rollout-picture.ts";
import { openRun } from "../src/engine/runs/run-folder.ts";
import { zipFiles } from "../src/engine/runs/zip.ts";
import type { RunStore } from "../src/engine/storage/store.ts";

/**
 * The scale-out export of a run.
 * @throws LabError("bad-input") unless the run's rows are open
 */
export async function scaleOutZip(
  store: RunStore,
  runId: string,
  set: RegionSet | null,
  wordnetUrl: string,
): Promise<{ readonly blob: Blob; readonly fileName: string; readonly note: string | null }> {
  const run = await openRun(store, runId);
  const { data, created } = run.manifest();
  if (set === null) throw badInput(`Open ${data.name} first: the export lists the rows that the run used`, data.name);
  const wordnet = urlSource("wordnet30.txt", wordnetUrl, await sizeOf(wordnetUrl));
  const files = scaleOutFiles(run, { set, dataSet: data.name, wordnet, step: null, fresh: true });
  const parts: Blob[] = [];
  for await (const piece of zipFiles(files, `${runId}-scale-out`, new Date(created))) parts.push(new Blob([piece]));
  return { blob: new Blob(parts, { type: "application/zip" }), fileName: `${runId}-scale-out.zip`, note: null };
}

async function sizeOf(url: string): Promise<number> {
  return (await (await fetch(url)).blob()).size;
}

/**
 * @param set the open rows; the export includes the training rows if these are the run's rows
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
  if (format === "report") {
    const blob = new Blob([await runReport(run, pictureOf)], { type: "text/html" });
    return { blob, fileName: `${runId}.html`, note: set === null ? "without pictures: no rows are open" : null };
  }
  const manifest = run.manifest();
  const open = set?.summaries.map(({ id, imageId }) => [id, imageId] as const) ?? [];
  const same = set !== null && (await rowsHash(open)) === manifest.data.hash;
  const rows = same ? await exportRows(manifest, set, manifest.data.name) : null;
  // TensorBoard treats a folder whose name contains "tfevents" as an event file.
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
