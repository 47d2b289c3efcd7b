/** The files that the player writes; loaded on the first export. */

import { saveBlob } from "../../app/clients/save-blob.ts";
import { runningOf, startJob } from "../../app/stores/jobs.ts";
import { maskletsJson, maskletsZip, type NamedMasklet } from "./export-masklets.ts";
import { type FilmedClip, film } from "./film.ts";
import { FILM } from "./follow-store.ts";

export type ExportKind = "json" | "png" | "webm";

export interface ClipFile extends FilmedClip {
  /** Beginning of the file's name. */
  readonly name: string;
  /** In JSON and PNG. */
  readonly masklets: readonly NamedMasklet[];
}

/**
 * Hands the file to the browser's downloads. One video is made at a time; its job shows and stops it.
 * @throws LabError("unsupported") where the browser encodes no video, LabError("cancelled") for a stopped video
 */
export async function exportClip(kind: ExportKind, clip: ClipFile): Promise<void> {
  const { name, masklets, frames } = clip;
  if (kind === "json") saveBlob(new Blob([maskletsJson(masklets, frames)]), `${name}.json`);
  else if (kind === "png") saveBlob(new Blob([maskletsZip(masklets, frames)]), `${name}.zip`);
  else if (runningOf(FILM) === null) {
    const first = { rowId: clip.rowId, done: 0, total: frames };
    await startJob(FILM, first, async (signal, show) => {
      saveBlob(await film(clip, { onFrames: (done) => show({ ...first, done }), signal }), `${name}.webm`);
    });
  }
}
