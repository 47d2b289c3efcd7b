import type { ByteFolder } from "../src/engine/bytes/source.ts";
import { fetchedFolder, mergeFolders, pickedFolder } from "../src/engine/data/blob-source.ts";
import { badInput } from "../src/engine/errors.ts";
import type { OpenModelOptions } from "../src/engine/loading/open-model.ts";
import { PLUGIN_FOLDERS } from "../src/plugins/folders.ts";
import type { FolderRef } from "../src/protocol/common.ts";
import type { Fetching, FolderOpener } from "../src/protocol/plugin-calls.ts";

/** Last two parts of a built-in folder's URL ("pocket model"), or the name of the picked or requested folder. */
export function folderName(ref: FolderRef): string {
  if (ref.kind === "picked") return ref.name;
  if (ref.kind === "remote") return ref.name;
  const parts = new URL(ref.baseUrl).pathname.split("/").filter((part) => part !== "");
  return decodeURIComponent(parts.slice(-2).join(" "));
}

/** A model folder, the part of its conversion to store, and a function that closes its connections. */
export interface OpenedFolder {
  readonly folder: ByteFolder;
  readonly keep: NonNullable<OpenModelOptions["keep"]>;
  close(): void;
}

/** @throws LabError when a built-in folder's list or the small files of a remote one cannot be fetched */
export async function openModelRef(ref: FolderRef, fetching: Fetching = {}): Promise<OpenedFolder> {
  if (ref.kind !== "remote") return { folder: await openFolder(ref), keep: "packed", close: () => undefined };
  const { folder, known, close } = await opener().open(ref.listing, fetching);
  return { folder, keep: known ? "all" : "none", close };
}

/**
 * The files of a reference.
 * @throws LabError like `openModelRef`
 */
export async function openFolder(ref: FolderRef): Promise<ByteFolder> {
  if (ref.kind === "remote") return (await opener().open(ref.listing, {})).folder;
  return ref.kind === "picked" ? pickedFolder(ref.files) : fetchedFolder(ref.baseUrl);
}

/** Several references as one folder. */
export async function openFolders(refs: readonly FolderRef[]): Promise<ByteFolder> {
  const folders = await Promise.all(
    refs.map(async (ref) => ({ name: folderName(ref), folder: await openFolder(ref) })),
  );
  return mergeFolders(folders);
}

/** @throws LabError("bad-input") when no plug-in opens folders of servers */
function opener(): FolderOpener {
  const [found] = PLUGIN_FOLDERS;
  if (found === undefined) throw badInput("This build has no plug-in that opens folders of servers");
  return found;
}
