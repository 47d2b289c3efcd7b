/** The files that the player writes; loaded when one is asked for. */
import { maskletsJson, maskletsZip, type NamedMasklet } from "../../../engine/data/clips/export-masklets.ts";
import { saveBlob } from "../../clients/save-blob.ts";

export type ExportKind = "json" | "png";

export interface ClipFile {
  /** Beginning of the file's name. */
  readonly name: string;
  readonly frames: number;
  readonly masklets: readonly NamedMasklet[];
}

/** Hands the file to the browser's downloads. */
export function exportClip(kind: ExportKind, { name, masklets, frames }: ClipFile): void {
  if (kind === "json") saveBlob(new Blob([maskletsJson(masklets, frames)]), `${name}.json`);
  else saveBlob(new Blob([maskletsZip(masklets, frames)]), `${name}.zip`);
}
