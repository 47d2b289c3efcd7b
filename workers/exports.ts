/** Exports of a stored run as one zip, or one page. */
import { urlSource } from "../src/engine/data/blob-source.ts";
import { rowsHash } from "../src/engine/data/open-rows.ts";
import type { RegionSet } from "../src/engine/data/region-set.ts";
import { LabError } from "../src/engine/errors.ts";
import { type ExportSources, exportRows } from "../src/engine/export/export-file.ts";
import type { RunExport } from "../src/engine/export/export-names.ts";
import { EXPORT_FORMATS, exportFiles } from "../src/engine/export/formats.ts";
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

async function sizeOf(url: string): Promise<number> {
  return (await (await fetch(url)).blob()).size;
}

/**
 * @param set the open rows; the export includes the training rows if these are the run's rows
 * @param pictureOf pictures of open rows
 * @param wordnetUrl address of the WordNet table
 */
export async function exportZip(
  store: RunStore,
  runId: string,
  format: RunExport,
  { set, pictureOf, wordnetUrl }: { set: RegionSet | null; pictureOf: PictureOf; wordnetUrl: string },
  progress: ZipProgress,
): Promise<ExportedFile> {
  const run = await openRun(store, runId);
  const { data, created } = run.manifest();
  const open = set?.summaries.map(({ id, imageId }) => [id, imageId] as const) ?? [];
  const same = set !== null && (await rowsHash(open)) === data.hash;
  const sources: ExportSources = {
    rows: same ? await exportRows(run.manifest(), set, data.name) : null,
    dataSet: set === null ? null : { set, name: data.name },
    pictureOf,
    wordnet: async () => urlSource("wordnet30.txt", wordnetUrl, await sizeOf(wordnetUrl)),
  };
  const { lacks, page } = EXPORT_FORMATS[format];
  const note = lacks?.(run, sources) ?? null;
  const files = await exportFiles(run, format, sources);
  if (page !== undefined) {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    for await (const file of files) for await (const piece of file.pieces()) pieces.push(piece);
    return { blob: new Blob(pieces, { type: page.type }), fileName: `${runId}.${page.ending}`, note };
  }
  // TensorBoard treats a folder whose name contains "tfevents" as an event file.
  const name = `${runId}-${format === "tfevents" ? "tensorboard" : format}`;
  return { ...(await zipped(zipFiles(files, name, new Date(created)), name, progress)), note };
}
