/** Exports of a stored run as one zip, or one page. */
import { urlSource } from "../src/engine/data/blob-source.ts";
import { rowsHash } from "../src/engine/data/open-rows.ts";
import type { RegionSet } from "../src/engine/data/region-set.ts";
import { badInput, LabError } from "../src/engine/errors.ts";
import type { RunExport } from "../src/engine/export/export-names.ts";
import { exportFiles } from "../src/engine/export/formats.ts";
import { runReport } from "../src/engine/export/report/run-report.ts";
import { exportRows } from "../src/engine/export/rows.ts";
import { scaleOutFiles } from "../src/engine/export/scale-out.ts";
import type { PictureOf } from "../src/engine/runs/rollouts/rollout-picture.ts";
import { openRun } from "../src/engine/runs/run-folder.ts";
import { zipFiles, zipRun } from "../src/engine/runs/zip.ts";
import type { RunStore } from "../src/engine/storage/store.ts";

/** Bytes after which progress is reported again. */
const REPORTED = 2 ** 20;

export interface ExportedFile {
  readonly blob: Blob;
  readonly fileName: string;
  /** What it lacks; null if nothing. */
  readonly note: string | null;
}

interface ZipProgress {
  /** Bytes of the zip so far. */
  readonly onBytes: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** One Blob; browsers keep the pieces of a large one on disk. @throws LabError("cancelled") when the signal aborts */
async function zipped(
  pieces: AsyncIterable<Uint8Array<ArrayBuffer>>,
  name: string,
  { onBytes, signal }: ZipProgress,
): Promise<Pick<ExportedFile, "blob" | "fileName">> {
  const parts: Blob[] = [];
  let [bytes, reported] = [0, 0];
  for await (const piece of pieces) {
    if (signal.aborted) throw new LabError("cancelled", "The export was stopped; nothing was saved");
    parts.push(new Blob([piece]));
    bytes += piece.length;
    if (bytes - reported < REPORTED) continue;
    reported = bytes;
    onBytes(bytes);
  }
  return { blob: new Blob(parts, { type: "application/zip" }), fileName: `${name}.zip` };
}

/** The run's folder, with tables. */
export async function runZip(store: RunStore, runId: string, progress: ZipProgress): Promise<ExportedFile> {
  return { ...(await zipped(zipRun(store, runId), runId, progress)), note: null };
}

/**
 * The scale-out export of a run.
 * @throws LabError("bad-input") unless the run's rows are open
 */
export async function scaleOutZip(
  store: RunStore,
  runId: string,
  set: RegionSet | null,
  wordnetUrl: string,
  progress: ZipProgress,
): Promise<ExportedFile> {
  const run = await openRun(store, runId);
  const { data, created } = run.manifest();
  if (set === null) throw badInput(`Open ${data.name} first: the export lists the rows that the run used`, data.name);
  const wordnet = urlSource("wordnet30.txt", wordnetUrl, await sizeOf(wordnetUrl));
  const files = scaleOutFiles(run, { set, dataSet: data.name, wordnet, step: null });
  const name = `${runId}-scale-out`;
  return { ...(await zipped(zipFiles(files, name, new Date(created)), name, progress)), note: null };
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
  progress: ZipProgress,
): Promise<ExportedFile> {
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
  const files = await exportFiles(run, format, rows, pictureOf);
  const note =
    rows === null && format === "sa2va" ? `without annotations: open ${manifest.data.name} to include them` : null;
  return { ...(await zipped(zipFiles(files, name, new Date(manifest.created)), name, progress)), note };
}
