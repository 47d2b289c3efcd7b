/** What archives have in common: members with names that stay inside, and a sentence when the archive is damaged. */
import type { ByteSource } from "../../bytes/source.ts";

/** A file inside an archive. */
export interface Member {
  /** "/" separated, never absolute and never leading out. */
  readonly name: string;
  readonly source: ByteSource;
}

/** The files of an archive. */
export interface Archive {
  readonly members: readonly Member[];
  /** One sentence per thing that was left out or is damaged. */
  readonly problems: readonly string[];
}

/** Most members of one archive. */
export const MAX_MEMBERS = 2 ** 21;

/** A member's name with "./" and doubled slashes taken out; undefined for one that is absolute or leads out. */
export function safeName(name: string): string | undefined {
  const parts = name.replaceAll("\\", "/").split("/");
  if (parts[0] === "" || /^[a-z]:$/i.test(parts[0] ?? "") || parts.includes("..")) return undefined;
  const clean = parts.filter((part) => part !== "" && part !== ".").join("/");
  return clean === "" || clean.includes("\0") ? undefined : clean;
}

/** Whether a name is one of those that operating systems leave behind. */
export function isHidden(name: string): boolean {
  return name.split("/").some((part) => part.startsWith(".") || part === "__MACOSX");
}
