import type { ByteFolder } from "../src/engine/bytes/source.ts";
import { fetchedFolder, mergeFolders, pickedFolder } from "../src/engine/data/blob-source.ts";
import type { FolderRef } from "../src/protocol/common.ts";

/** Last two parts of a built-in folder's URL ("pocket model"), or the name of what was picked. */
export function folderName(ref: FolderRef): string {
  if (ref.kind === "picked") return ref.name;
  const parts = new URL(ref.baseUrl).pathname.split("/").filter((part) => part !== "");
  return decodeURIComponent(parts.slice(-2).join(" "));
}

/** The files of a reference. @throws LabError("bad-input") when a built-in folder's list cannot be fetched */
export async function openFolder(ref: FolderRef): Promise<ByteFolder> {
  return ref.kind === "picked" ? pickedFolder(ref.files) : fetchedFolder(ref.baseUrl);
}

/** Several references as one folder. */
export async function openFolders(refs: readonly FolderRef[]): Promise<ByteFolder> {
  const folders = await Promise.all(
    refs.map(async (ref) => ({ name: folderName(ref), folder: await openFolder(ref) })),
  );
  return mergeFolders(folders);
}
