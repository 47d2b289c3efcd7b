/** Pictures stored next to a shard instead of inside it. */
import { addTo } from "../bytes/collections.ts";
import type { ByteFolder, ByteSource } from "../bytes/source.ts";
import { badInput, quote } from "../errors.ts";

/** Finds a file that a row names. @throws LabError("bad-input") when several files fit, or one but for its case */
export type FindFile = (path: string) => ByteSource | undefined;

/**
 * Finders for the paths in the rows of each shard: relative to the shard's directory or to one above it, or else by the
 * end of the path if it identifies one file. Paths in rows are often longer than the copied folders, and folders may be
 * renamed. If a path's folder exists but the file or subfolder is missing in it, no other file replaces it. ".." leads to
 * the folder above. A path that leads nowhere is also tried as part of an address, with `%20` for a blank.
 */
export function siblingsOf(folder: ByteFolder): (shard: string) => FindFile {
  let byName: ReadonlyMap<string, readonly string[]> | undefined;
  let folders: IsFolder | undefined;
  return (shard) => {
    const above: string[] = [];
    for (let parts = shard.split("/").slice(0, -1); ; parts = parts.slice(0, -1)) {
      above.push(parts.map((part) => `${part}/`).join(""));
      if (parts.length === 0) break;
    }
    const find: FindFile = (path) => {
      const { parts, up } = resolved(path);
      if (parts.length === 0) return undefined;
      for (const directory of above.slice(up)) {
        const found = folder.get(directory + parts.join("/"));
        if (found !== undefined) return found;
      }
      byName ??= namesOf(folder);
      let candidates = byName.get((parts.at(-1) as string).normalize()) ?? [];
      for (let n = 2; candidates.length > 1 && n <= parts.length; n++) {
        const end = `/${parts.slice(-n).join("/")}`.normalize();
        candidates = candidates.filter((known) => `/${known}`.normalize().endsWith(end));
      }
      const [only, other] = candidates;
      if (only === undefined) return undefined;
      if (other !== undefined) {
        throw badInput(
          `the path ${quote(path, 80)} matches ${candidates.length} files, such as ${only} and ${other}; name the folder in the path`,
        );
      }
      folders ??= foldersOf(folder);
      return isMissing(partsOf(plain(parts.join("/"))), only, folders) ? undefined : folder.get(only);
    };
    return (path) => {
      const found = find(path) ?? (unescaped(path) === path ? undefined : find(unescaped(path)));
      const near = found === undefined ? nearMatch(folder, path) : undefined;
      if (near === undefined) return found;
      throw badInput(
        `the path ${quote(path, 80)} matches no file; ${near} differs from it only in upper and lower case`,
      );
    };
  };
}

const lowerNames = new WeakMap<ByteFolder, ReadonlyMap<string, string>>();

/** A file whose name differs from that of a path only in upper and lower case. */
function nearMatch(folder: ByteFolder, path: string): string | undefined {
  let names = lowerNames.get(folder);
  if (names === undefined) {
    names = new Map([...namesOf(folder)].map(([name, [first]]) => [name.toLowerCase(), first as string]));
    lowerNames.set(folder, names);
  }
  const name = partsOf(path).at(-1)?.normalize() ?? "";
  const near = names.get(name.toLowerCase());
  return near?.endsWith(`/${name}`) === true || near === name ? undefined : near;
}

/** Like `find`, but only in a folder that the row names, because frames of all clips have the same numbers. */
export function inOwnFolder(find: FindFile): FindFile {
  return (path) => {
    const found = find(path);
    const ends = [path, unescaped(path)].map((one) => `/${partsOf(plain(one)).slice(-2).join("/")}`);
    return found !== undefined && ends.some((end) => `/${plain(found.name)}`.endsWith(end)) ? found : undefined;
  };
}

/** A path without the escapes of addresses; the same path if it has none or they are no text. */
function unescaped(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Parts of a path without "..", and the number of folders that it leads up at its start. */
function resolved(path: string): { readonly parts: readonly string[]; readonly up: number } {
  const parts: string[] = [];
  let up = 0;
  for (const part of partsOf(path)) {
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) up++;
  }
  return { parts, up };
}

function partsOf(path: string): string[] {
  return path.split(/[\\/]+/).filter((part) => part !== "" && part !== ".");
}

/** A path with normalised accents, and with names of archives replaced by those of the folders they were made from. */
function plain(path: string): string {
  return withoutArchives(path).normalize();
}

/**
 * Whether a known file is not the row's file: the folder at which their paths diverge exists, or for a frame the folder
 * above it.
 * @param parts parts of the row's plain path
 */
function isMissing(parts: readonly string[], known: string, isFolder: IsFolder): boolean {
  const own = plain(known).split("/");
  const most = Math.min(parts.length, own.length);
  const agree = (from: number): boolean => parts.at(-from) === own.at(-from);
  let same = 1;
  while (same < most && agree(same + 1)) same++;
  if (same === most) return false;
  const sameAbove = same + 2 <= most && agree(same + 2);
  return isFolder(parts.slice(-same - 1, -1).join("/")) || (sameAbove && FRAME.test(parts.at(-1) as string));
}

/** Names that are numbers, which files of many folders share. */
const FRAME = /^(?:0\d{1,7}|\d{1,4})\.\w+$/;

/** Whether the path of a directory ends with these parts. */
type IsFolder = (end: string) => boolean;

function foldersOf(folder: ByteFolder): IsFolder {
  // By their last part, because all ends of deep paths would fill memory.
  const byName = new Map<string, string[]>();
  const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
  const directories = folder.paths.map((path) => plain(path).slice(0, Math.max(0, plain(path).lastIndexOf("/"))));
  for (const directory of new Set(directories)) addTo(byName, nameOf(directory), directory);
  return (end) => (byName.get(nameOf(end)) ?? []).some((directory) => `/${directory}`.endsWith(`/${end}`));
}

function namesOf(folder: ByteFolder): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const path of folder.paths) {
    // Archives made on macOS store accents separately from their letters.
    addTo(names, path.slice(path.lastIndexOf("/") + 1).normalize(), path);
  }
  return names;
}

/** The end of an archive's name. */
export const ARCHIVE = /\.(tar|zip)$/i;

/** A path without the endings of the archives in it: `a/b.tar/c` is `a/b/c`. */
export function withoutArchives(path: string): string {
  return path.replace(/\.(?:tar|zip)(?=\/)/gi, "");
}
