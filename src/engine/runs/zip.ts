/** A run as one zip file, streamed: only the current piece is in memory. */
import { Zip, ZipPassThrough } from "fflate";
import { LabError } from "../errors.ts";
import { tfevents, tfeventsName } from "../formats/tfevents.ts";
import type { RunStore } from "../storage/store.ts";
import { runEvents } from "./run-events.ts";
import { openRun } from "./run-folder.ts";
import { runTables } from "./run-tables.ts";

const PIECE = 4 * 2 ** 20;
/** The zip format without its 64-bit extension ends here; a reserve is kept for the directory. */
const LIMIT = 2 ** 32 - 2 ** 24;

/**
 * Pieces of the zip, stored without compression (tensors and Arrow do not shrink), plus an event file for TensorBoard
 * and tables. Times in the zip are the run's start, so that the same run gives the same bytes.
 * @throws LabError("unsupported") when the run is larger than a zip may be
 */
export async function* zipRun(store: RunStore, runId: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const run = await openRun(store, runId);
  const files = await store.list(runId);
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > LIMIT) {
    throw new LabError("unsupported", `Run "${runId}" has ${total} bytes, more than the 4 GiB a zip can hold here`, {
      subject: runId,
    });
  }
  const created = new Date(run.manifest().created);
  const start = created.getTime() / 1000;

  const ready: Uint8Array[] = [];
  let failure: Error | null = null;
  const zip = new Zip((error, piece) => {
    if (error !== null) failure = error;
    else ready.push(piece);
  });
  const flush = function* (): Generator<Uint8Array<ArrayBuffer>> {
    if (failure !== null) {
      throw new LabError("internal", `The zip of run "${runId}" failed: ${failure.message}`, { cause: failure });
    }
    for (const piece of ready.splice(0)) yield piece as Uint8Array<ArrayBuffer>;
  };
  const add = (name: string): ZipPassThrough => {
    const entry = new ZipPassThrough(`${runId}/${name}`);
    entry.mtime = zipDate(created);
    zip.add(entry);
    return entry;
  };

  for (const { path } of files) {
    const entry = add(path.slice(runId.length + 1));
    const source = await store.open(path);
    for (let at = 0; at < source.size; at += PIECE) {
      entry.push(await source.read(at, Math.min(source.size, at + PIECE)));
      yield* flush();
    }
    entry.push(new Uint8Array(), true);
    yield* flush();
  }
  for (const [name, content] of Object.entries(await runTables(run))) {
    add(name).push(new TextEncoder().encode(content), true);
  }
  add(tfeventsName(start)).push(tfevents(start, await runEvents(run, start, null)), true);
  zip.end();
  yield* flush();
}

/** The zip format knows the years 1980 to 2099. */
function zipDate(date: Date): Date {
  const year = date.getFullYear();
  return year >= 1980 && year <= 2099 ? date : new Date(1980, 0, 1);
}
