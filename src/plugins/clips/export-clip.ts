/** The files that the player writes; loaded on the first export. */

import { saveBlob } from "../../app/clients/save-blob.ts";
import { askWhileMaking } from "../../app/frame/leaving.ts";
import { maskletsJson, maskletsZip, type NamedMasklet } from "./export-masklets.ts";
import { type FilmedClip, film } from "./film.ts";
import { useFilm } from "./follow-store.ts";

export type ExportKind = "json" | "png" | "webm";

export interface ClipFile extends FilmedClip {
  /** Beginning of the file's name. */
  readonly name: string;
  /** In JSON and PNG. */
  readonly masklets: readonly NamedMasklet[];
}

/**
 * Hands the file to the browser's downloads. One video is made at a time; the store shows and stops it.
 * @throws LabError("unsupported") where the browser encodes no video, LabError("cancelled") for a stopped video
 */
export async function exportClip(kind: ExportKind, clip: ClipFile): Promise<void> {
  const { name, masklets, frames } = clip;
  if (kind === "json") saveBlob(new Blob([maskletsJson(masklets, frames)]), `${name}.json`);
  else if (kind === "png") saveBlob(new Blob([maskletsZip(masklets, frames)]), `${name}.zip`);
  else if (useFilm.getState().filming === null) saveBlob(await filmed(clip), `${name}.webm`);
}

async function filmed(clip: ClipFile): Promise<Blob> {
  const stop = new AbortController();
  const onFrames = (done: number): void =>
    useFilm.setState({
      filming: { rowId: clip.rowId, done, total: clip.frames, stop: () => stop.abort() },
    });
  onFrames(0);
  try {
    return await askWhileMaking(film(clip, { onFrames, signal: stop.signal }));
  } finally {
    useFilm.setState({ filming: null });
  }
}
