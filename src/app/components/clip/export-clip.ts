/** The files that the player writes; loaded on the first export. */
import { maskletsJson, maskletsZip, type NamedMasklet } from "../../../engine/data/clips/export-masklets.ts";
import { saveBlob } from "../../clients/save-blob.ts";
import { type FilmedClip, film } from "./film.ts";

export type ExportKind = "json" | "png" | "webm";

export interface ClipFile extends FilmedClip {
  /** Beginning of the file's name. */
  readonly name: string;
  /** In JSON and PNG. */
  readonly masklets: readonly NamedMasklet[];
}

/** Hands the file to the browser's downloads. @throws LabError("unsupported") where the browser encodes no video */
export async function exportClip(kind: ExportKind, clip: ClipFile): Promise<void> {
  const { name, masklets, frames } = clip;
  if (kind === "json") saveBlob(new Blob([maskletsJson(masklets, frames)]), `${name}.json`);
  else if (kind === "png") saveBlob(new Blob([maskletsZip(masklets, frames)]), `${name}.zip`);
  else saveBlob(await film(clip), `${name}.webm`);
}
