/** Files as one zip, streamed: only the current piece is in memory. */
import { Zip, ZipPassThrough } from "fflate";
import { piecesOf } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { tfevents, tfeventsName } from "../formats/tfevents.ts";
import type { RunStore } from "../storage/store.ts";
import { isOwnFile } from "./checkpoint/checkpoint-folder.ts";
import { runEvents, runTables } from "./run-events.ts";
import { openRun } from "./run-folder.ts";

/** Limits of the zip format without its 64-bit extension: bytes, with a reserve for the directory, and files. */
const LIMIT = 2 ** 32 - 2 ** 24;
const MOST_FILES = 2 ** 16 - 1;

type Pieces = Iterable<Uint8Array<ArrayBuffer>> | AsyncIterable<Uint8Array<ArrayBuffer>>;

interface ZippedFile {
  readonly path: string;
  pieces(): Pieces;
}

/**
 * Pieces of the zip, stored without compression, every file below `folder`.
 * @param modified time of all entries, so that the same files give the same bytes
 * @throws LabError("unsupported") when the files are too large or too many for a zip
 */
export async function* zipFiles(
  files: AsyncIterable<ZippedFile>,
  folder: string,
  modified: Date,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const ready: Uint8Array[] = [];
  let failure: Error | null = null;
  const zip = new Zip((error, piece) => {
    if (error !== null) failure = error;
    else ready.push(piece);
  });
  const flush = function* (): Generator<Uint8Array<ArrayBuffer>> {
    if (failure !== null) throw new LabError("internal", `The zip failed: ${failure.message}`, { cause: failure });
    for (const piece of ready.splice(0)) yield piece as Uint8Array<ArrayBuffer>;
  };
  const year = modified.getFullYear();
  let [total, count] = [0, 0];
  for await (const file of files) {
    if (++count > MOST_FILES)
      throw new LabError("unsupported", `The export has more than ${MOST_FILES} files, the limit of a zip`);
    const entry = new ZipPassThrough(`${folder}/${file.path}`);
    // The zip format supports the years 1980 to 2099.
    entry.mtime = year >= 1980 && year <= 2099 ? modified : new Date(1980, 0, 1);
    zip.add(entry);
    for await (const piece of file.pieces()) {
      total += piece.length;
      if (total > LIMIT) throw new LabError("unsupported", "The export is larger than 4 GiB, the limit of a zip");
      entry.push(piece);
      yield* flush();
    }
    entry.push(new Uint8Array(), true);
    yield* flush();
  }
  zip.end();
  yield* flush();
}

/**
 * A run as a zip, with an event file for TensorBoard and tables. The time of all entries is the run's start.
 * @throws LabError("unsupported") when the run is larger or has more files than a zip may hold
 */
export async function* zipRun(store: RunStore, runId: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const run = await openRun(store, runId);
  const files = (await store.list(runId)).filter(({ path }) => isOwnFile(path, runId));
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > LIMIT) {
    throw new LabError("unsupported", `Run "${runId}" has ${total} bytes, more than the 4 GiB a zip can hold here`, {
      subject: runId,
    });
  }
  if (files.length > MOST_FILES - 5) {
    throw new LabError(
      "unsupported",
      `Run "${runId}" has ${files.length} files, more than the ${MOST_FILES} a zip can hold here`,
      { subject: runId },
    );
  }
  const created = new Date(run.manifest().created);
  const start = created.getTime() / 1000;
  const entries = async function* (): AsyncGenerator<ZippedFile> {
    for (const { path } of files) {
      const source = await store.open(path);
      yield { path: path.slice(runId.length + 1), pieces: () => piecesOf(source) };
    }
    for (const [path, content] of Object.entries(await runTables(run)))
      yield { path, pieces: () => [new TextEncoder().encode(content)] };
    const events = tfevents(start, await runEvents(run, start, null));
    yield { path: tfeventsName(start), pieces: () => [events] };
  };
  yield* zipFiles(entries(), runId, created);
}
