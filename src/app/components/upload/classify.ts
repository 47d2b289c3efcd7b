/** Classifies selected files: a checkpoint folder holds config.json, all other files may be shards. */
import type { FolderRef, PickedFile } from "../../../protocol/common.ts";

export interface Classified {
  /** Folders with a config.json, paths relative to the folder. The caller handles more than one. */
  readonly models: readonly FolderRef[];
  /** One entry per top-level folder, or one for all loose files; may be empty. */
  readonly shards: readonly FolderRef[];
}

/** Sorts files into checkpoint folders and shards; hidden files such as .DS_Store are left out. */
export function classifyPicked(files: readonly PickedFile[]): Classified {
  const visible = files.filter(({ path }) => !path.split("/").some((part) => part.startsWith(".")));
  const homes = visible.filter(({ path }) => baseName(path) === "config.json").map(({ path }) => folderOf(path));
  // A folder inside another model folder belongs to the outer one.
  const roots = homes.filter((home) => !homes.some((other) => other !== home && isInside(home, other)));
  const models = roots.map((root) => picked(lastPart(root) || "checkpoint", root, visible));
  const rest = visible.filter(({ path }) => !roots.some((root) => isInside(folderOf(path), root)));
  const tops = [...new Set(rest.map(({ path }) => topOf(path)))];
  const shards = tops.map((top) => {
    const own = rest.filter(({ path }) => topOf(path) === top);
    const name = top || (own.length === 1 ? baseName(own[0]?.path ?? "") : `${own.length} files`);
    return picked(name, top, own);
  });
  return { models, shards };
}

/** Files that hold a PEFT adapter and no model; null for anything else. */
export function adapterOf(files: readonly PickedFile[]): FolderRef | null {
  const names = new Set(files.map(({ path }) => baseName(path)));
  if (!names.has("adapter_config.json") || names.has("config.json")) return null;
  const [first] = files;
  const top = first === undefined ? "" : topOf(first.path);
  return picked(top || "adapter", files.every(({ path }) => topOf(path) === top) ? top : "", files);
}

function picked(name: string, root: string, files: readonly PickedFile[]): FolderRef {
  const inside = files.filter(({ path }) => isInside(folderOf(path), root));
  const cut = root === "" ? 0 : root.length + 1;
  return { kind: "picked", name, files: inside.map(({ path, file }) => ({ path: path.slice(cut), file })) };
}

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));
const lastPart = (folder: string): string => folder.slice(folder.lastIndexOf("/") + 1);
const topOf = (path: string): string => (path.includes("/") ? path.slice(0, path.indexOf("/")) : "");
const isInside = (folder: string, root: string): boolean =>
  root === "" || folder === root || folder.startsWith(`${root}/`);
