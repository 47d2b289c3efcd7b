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

/** Maximum members of one archive. */
export const MAX_MEMBERS = 2 ** 21;

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
