/** Pictures stored beside a shard instead of inside it. */
import type { ByteFolder, ByteSource } from "../bytes/source.ts";

/** Finds a file that a row names. */
export type FindFile = (path: string) => ByteSource | undefined;

/**
 * Finders for the paths in the rows of each shard: relative to the shard's directory or to one above it, or else by the
 * end of the path if it identifies one file. Rows often contain a longer path than was copied here.
 */
export function siblingsOf(folder: ByteFolder): (shard: string) => FindFile {
  let byName: ReadonlyMap<string, readonly string[]> | undefined;
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
      return candidates.length === 1 && only !== undefined ? folder.get(only) : undefined;
    };
  };
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
