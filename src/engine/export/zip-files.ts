/** Exported files as one zip, streamed: only the current piece is in memory. */
import { Zip, ZipPassThrough } from "fflate";
import { LabError } from "../errors.ts";
import type { ExportFiles } from "./export-file.ts";

/** Limit of the zip format without its 64-bit extension, with a reserve for the directory. */
const LIMIT = 2 ** 32 - 2 ** 24;

/**
 * Pieces of the zip, stored without compression, every file below `folder`.
 * @param modified time of all entries, so that the same files give the same bytes
 * @throws LabError("unsupported") when the files are larger than a zip may be
 */
export async function* zipFiles(
  files: ExportFiles,
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
  let total = 0;
  for await (const file of files) {
    const entry = new ZipPassThrough(`${folder}/${file.path}`);
    // The zip format knows the years 1980 to 2099.
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
