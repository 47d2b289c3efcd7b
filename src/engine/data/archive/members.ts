/** Common parts of archives: members with safe names, and a sentence if the archive is damaged. */
import type { ByteSource } from "../../bytes/source.ts";

/** A file inside an archive. */
export interface Member {
  /** "/" separated, never absolute and never outside the archive. */
  readonly name: string;
  readonly source: ByteSource;
}

/** The files of an archive. */
export interface Archive {
  readonly members: readonly Member[];
  /** One sentence per member that was skipped or damaged. */
  readonly problems: readonly string[];
}

/** Maximum members of the archives of a folder, each of which takes two kilobytes of memory while the folder is open. */
export const MAX_MEMBERS = 2 ** 18;

/** Maximum characters and folders of a member's name; operating systems allow few more. */
const MAX_NAME = 1024;
const MAX_FOLDERS = 64;

/** Whether a safe name is longer than any file's. */
export function isTooLong(name: string): boolean {
  return name.length > MAX_NAME || name.split("/").length > MAX_FOLDERS;
}

/** A member's name without "./" and doubled slashes; undefined for one that is absolute or leads outside. */
export function safeName(name: string): string | undefined {
  const parts = name.replaceAll("\\", "/").split("/");
  if (parts[0] === "" || /^[a-z]:$/i.test(parts[0] ?? "") || parts.includes("..")) return undefined;
  const clean = parts.filter((part) => part !== "" && part !== ".").join("/");
  return clean === "" || clean.includes("\0") ? undefined : clean;
}

/** Whether the operating system created the file, such as `.DS_Store`. */
export function isHidden(name: string): boolean {
  return name.split("/").some((part) => part.startsWith(".") || part === "__MACOSX");
}

/** End of a sentence about damage in an archive. @param count files before the damage */
export function kept(count: number): string {
  if (count === 0) return "no file before it";
  return count === 1 ? "the file before it is kept" : `the ${count} files before it are kept`;
}

/** Problems that name what an archive has and is left out: a count, its noun for one, and its noun for several. */
export function leftOut(
  archive: string,
  kinds: readonly (readonly [count: number, one: string, many: string])[],
): string[] {
  return kinds.flatMap(([count, one, many]) => {
    if (count === 0) return [];
    return [`${archive} has ${count} ${count === 1 ? `${one}; it is` : `${many}; they are`} left out`];
  });
}

/** Kinds of `leftOut` that every archive may have. */
export const OUTSIDE = ["name that leads out of the archive", "names that lead out of the archive"] as const;
export const LONG = [
  `name longer than ${MAX_NAME} characters or ${MAX_FOLDERS} folders`,
  `names longer than ${MAX_NAME} characters or ${MAX_FOLDERS} folders`,
] as const;
