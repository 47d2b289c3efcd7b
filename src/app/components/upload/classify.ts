/** Classifies selected files: checkpoint and adapter folders hold a file of a known name, all other files may be shards. */
import type { FolderRef, PickedFile } from "../../../protocol/common.ts";

interface Classified {
  /** Folders with a config.json, paths relative to the folder. The caller handles more than one. */
  readonly models: readonly FolderRef[];
  /** Folders with an adapter_config.json that lie in no model's folder. */
  readonly adapters: readonly FolderRef[];
  /** One entry per top-level folder, or one for all other loose files; may be empty. */
  readonly shards: readonly FolderRef[];
}

/** Sorts files into checkpoints, adapters and shards; hidden files such as .DS_Store are left out. */
export function classifyPicked(files: readonly PickedFile[]): Classified {
  const visible = files.filter(isVisible);
  const [models, others] = foldersWith("config.json", "checkpoint", visible);
  const [adapters, rest] = foldersWith("adapter_config.json", "adapter", others);
  const tops = [...new Set(rest.map(({ path }) => topOf(path)))];
  const shards = tops.map((top) => {
    const own = rest.filter(({ path }) => topOf(path) === top);
    const name = top || (own.length === 1 ? baseName(own[0]?.path ?? "") : `${own.length} files`);
    return picked(name, top, own);
  });
  return { models, adapters, shards };
}

/** The folders of runs, and the files outside them. */
export function runFolders(files: readonly PickedFile[]): readonly [readonly FolderRef[], readonly PickedFile[]] {
  return foldersWith("run.json", "run", files);
}

/** The folders that hold a file, and the files outside them. @param loose name of files in no folder */
function foldersWith(file: string, loose: string, files: readonly PickedFile[]): [FolderRef[], PickedFile[]] {
  const homes = files.filter(({ path }) => baseName(path) === file).map(({ path }) => folderOf(path));
  // A folder inside another of these folders belongs to the outer one.
  const roots = homes.filter((home) => !homes.some((other) => other !== home && isInside(home, other)));
  const rest = files.filter(({ path }) => !roots.some((root) => isInside(folderOf(path), root)));
  return [roots.map((root) => picked(lastPart(root) || loose, root, files)), rest];
}

function picked(name: string, root: string, files: readonly PickedFile[]): FolderRef {
  const inside = files.filter(({ path }) => isInside(folderOf(path), root));
  const cut = root === "" ? 0 : root.length + 1;
  return { kind: "picked", name, files: inside.map(({ path, file }) => ({ path: path.slice(cut), file })) };
}

/** Neither hidden nor in a hidden folder. */
export const isVisible = ({ path }: PickedFile): boolean => !path.split("/").some((part) => part.startsWith("."));

const baseName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf("/")));
const lastPart = (folder: string): string => folder.slice(folder.lastIndexOf("/") + 1);
const topOf = (path: string): string => (path.includes("/") ? path.slice(0, path.indexOf("/")) : "");
const isInside = (folder: string, root: string): boolean =>
  root === "" || folder === root || folder.startsWith(`${root}/`);
