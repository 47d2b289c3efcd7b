/** Opens the archives of a folder as directories: the content of `a/b.tar` has paths `a/b.tar/…`. */
import { refusePointer } from "../../bytes/git-lfs.ts";
import { folderOf } from "../../bytes/memory.ts";
import { paced } from "../../bytes/pace.ts";
import type { ByteFolder, ByteSource } from "../../bytes/source.ts";
import { badInput, LONGEST_SENTENCE, markUnseen, shortened, toLabError } from "../../errors.ts";
import type { SkippedRow } from "../sample.ts";
import { unpacker } from "./inflated.ts";
import { MAX_MEMBERS } from "./members.ts";
import { readTar } from "./tar.ts";
import { readZip } from "./zip.ts";

/** A folder with its archives opened. */
export interface MountedFolder {
  readonly folder: ByteFolder;
  /** Paths of the opened archives. */
  readonly archives: ReadonlySet<string>;
  readonly problems: readonly SkippedRow[];
}

/** A path without the endings of the archives in it: `a/b.tar/c` is `a/b/c`. */
export function withoutArchives(path: string): string {
  return path.replace(/\.(?:tar|zip)(?=\/)/gi, "");
}

/** The end of an archive's name. */
export const ARCHIVE = /\.(tar|zip)$/i;
/** Maximum depth of archives inside archives. */
const MAX_DEPTH = 1;
const TOO_MANY = `the archives of the folder hold more than ${MAX_MEMBERS} files; unpack it and add its folder`;
/** Work of a file besides reading it, in bytes. */
const FILE_WORK = 2 ** 10;

/**
 * Opens the tar and zip archives of a folder, recognised by their endings and content, including nested ones. Only
 * headers and directories are read.
 * @throws LabError("cancelled") when the signal is aborted; a damaged archive is a problem, never an error
 */
export async function mountArchives(folder: ByteFolder, signal?: AbortSignal): Promise<MountedFolder> {
  const files = new Map<string, ByteSource>();
  const archives = new Set<string>();
  const problems: SkippedRow[] = [];
  let members = 0;
  const waiting = folder.paths.map((path) => ({ path, source: folder.get(path) as ByteSource, depth: 0 }));
  // An archive inside another one is unpacked while its container is.
  const pace = paced("reading the folder", signal);
  const unpackers = Array.from({ length: MAX_DEPTH + 1 }, () => unpacker(signal));
  // The list grows during the loop: archives inside archives follow.
  for (const { path, source, depth } of waiting) {
    await pace(FILE_WORK);
    files.set(path, source);
    if (!ARCHIVE.test(path) || depth > MAX_DEPTH) continue;
    const problem = (reason: string): void => {
      problems.push({ file: path, row: -1, column: "", reason });
    };
    try {
      await refusePointer(source);
      const kind = await kindOf(source);
      if (kind === undefined) {
        problem(`${path} is neither a tar nor a zip archive, despite its name`);
        continue;
      }
      const found = kind === "zip" ? await readZip(source, signal, unpackers[depth]) : await readTar(source, signal);
      members += found.members.length;
      if (members > MAX_MEMBERS) throw badInput(`${path} is not opened: ${TOO_MANY}`, path);
      archives.add(path);
      for (const reason of found.problems) problem(shortened(reason, LONGEST_SENTENCE));
      // As in unpacking, a later file replaces an earlier one of the same name.
      const inside = new Map<string, ByteSource>();
      for (const { name, source } of found.members) {
        await pace(FILE_WORK);
        const inner = markUnseen(`${path}/${name}`);
        inside.set(inner, { ...source, name: inner });
      }
      const replaced = found.members.length - inside.size;
      if (replaced > 0) {
        const [are, names] = replaced === 1 ? ["1 member is", "its name"] : [`${replaced} members are`, "their names"];
        problem(`${path}: ${are} left out, because later members have ${names}`);
      }
      for (const [inner, source] of inside) waiting.push({ path: inner, source, depth: depth + 1 });
    } catch (thrown) {
      const error = toLabError(thrown);
      if (error.code === "cancelled") throw error;
      problem(error.message);
    }
  }
  return { folder: archives.size === 0 ? folder : folderOf(files), archives, problems };
}

async function kindOf(source: ByteSource): Promise<"tar" | "zip" | undefined> {
  const head = await source.read(0, Math.min(512, source.size));
  const [a, b] = head;
  if (a === 0x50 && b === 0x4b) return "zip";
  // Old tar files have no magic number; `readTar` verifies their checksum.
  const empty = head.length === 512 && head.every((byte) => byte === 0);
  const ustar = String.fromCharCode(...head.subarray(257, 262)) === "ustar";
  if (empty && source.size > 0) throw badInput(`${source.name} is an empty tar archive`);
  return ustar || (head.length === 512 && /^[0-7 \0]{8}$/.test(String.fromCharCode(...head.subarray(148, 156))))
    ? "tar"
    : undefined;
}
