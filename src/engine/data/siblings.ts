/** Pictures stored beside a shard instead of inside it. */
import type { ByteFolder, ByteSource } from "../bytes/source.ts";

/** Finds a file that a row names. */
export type FindFile = (path: string) => ByteSource | undefined;

/**
 * Finders for the paths in the rows of each shard: relative to the shard's directory or to one above it, or else by the
 * end of the path if it identifies one file. Rows often contain a longer path than was copied here, and folders are
 * renamed; a file that is missing in a folder that is there has no replacement elsewhere.
 */
export function siblingsOf(folder: ByteFolder): (shard: string) => FindFile {
  let byName: ReadonlyMap<string, readonly string[]> | undefined;
  let folders: ReadonlySet<string> | undefined;
  return (shard) => {
    const above: string[] = [];
    for (let parts = shard.split("/").slice(0, -1); ; parts = parts.slice(0, -1)) {
      above.push(parts.map((part) => `${part}/`).join(""));
      if (parts.length === 0) break;
    }
    return (path) => {
      const parts = path.split(/[\\/]+/).filter((part) => part !== "" && part !== ".");
      if (parts.length === 0 || parts.includes("..")) return undefined;
      for (const directory of above) {
        const found = folder.get(directory + parts.join("/"));
        if (found !== undefined) return found;
      }
      byName ??= namesOf(folder);
      let candidates = byName.get((parts.at(-1) as string).normalize()) ?? [];
      for (let n = 2; candidates.length > 1 && n <= parts.length; n++) {
        const end = `/${parts.slice(-n).join("/")}`.normalize();
        candidates = candidates.filter((known) => `/${known}`.normalize().endsWith(end));
      }
      const [only] = candidates;
      if (candidates.length !== 1 || only === undefined) return undefined;
      const named = otherFolder(parts, only);
      folders ??= folderEnds(folder);
      return named !== null && folders.has(named) ? undefined : folder.get(only);
    };
  };
}

/** The end of the row's path, without the file, that tells it from a known file's path; null where one path ends with the other. */
function otherFolder(parts: readonly string[], known: string): string | null {
  const own = known.split("/");
  const most = Math.min(parts.length, own.length);
  let same = 1;
  while (same < most && parts.at(-same - 1)?.normalize() === own.at(-same - 1)?.normalize()) same++;
  return same === most
    ? null
    : parts
        .slice(-same - 1, -1)
        .join("/")
        .normalize();
}

/** Every end of every directory's path. */
function folderEnds(folder: ByteFolder): Set<string> {
  const directories = new Set(
    folder.paths.map((path) => path.slice(0, Math.max(0, path.lastIndexOf("/"))).normalize()),
  );
  const ends = new Set<string>();
  for (const directory of directories) {
    const parts = directory.split("/");
    for (let from = 0; from < parts.length; from++) ends.add(parts.slice(from).join("/"));
  }
  return ends;
}

function namesOf(folder: ByteFolder): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const path of folder.paths) {
    // Archives of macOS hold accents apart from their letters.
    const name = path.slice(path.lastIndexOf("/") + 1).normalize();
    const known = names.get(name);
    if (known === undefined) names.set(name, [path]);
    else known.push(path);
  }
  return names;
}
