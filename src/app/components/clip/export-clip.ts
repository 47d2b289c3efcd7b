/** The files that the player writes; loaded when one is asked for. */
import { zipSync } from "fflate";
import { maskletPngs, maskletsJson, type NamedMasklet } from "../../../engine/data/clips/export-masklets.ts";
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
  else {
    const files = [...maskletPngs(masklets, frames)].map(({ path, bytes }) => [path, bytes] as const);
    const zip = zipSync(Object.fromEntries(files), { level: 0 });
    saveBlob(new Blob([zip]), `${name}.zip`);
  }
}
