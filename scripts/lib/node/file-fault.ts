/** Errors of the file system in words. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { LabError, thrownText } from "../../../src/engine/errors.ts";

/** Causes by the error code of the operating system, as the rest of a sentence. */
const CAUSES: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "read-only file system",
  ENOSPC: "the storage is full",
  EDQUOT: "the storage quota is used up",
  EFBIG: "the file is larger than the file system allows",
  ENOENT: "there is no such file or folder",
  ENOTDIR: "a part of its path is not a folder",
  EISDIR: "it is a folder",
  EEXIST: "it exists already",
  ENOTEMPTY: "the folder is not empty",
  ENAMETOOLONG: "its name is too long",
  ELOOP: "its links lead in circles",
  EMFILE: "this process has too many open files",
  ENFILE: "the system has too many open files",
  EBUSY: "another program uses it",
  EIO: "the disk reports an error",
};

/** The error code of the operating system; undefined for another error. */
export function errorCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;
}

/** The cause of a failed call of the file system, as the rest of a sentence; another error's own message. */
export function fileCause(thrown: unknown): string {
  return CAUSES[errorCode(thrown) ?? ""] ?? thrownText(thrown);
}

/** Calls that change files; all others read. */
const WRITES =
  /^(?:write|append|mkdir|mkdtemp|rename|unlink|rm|rmdir|link|symlink|truncate|ftruncate|fsync|copyfile|chmod)/;

/**
 * A failed call of the file system as one sentence with its path: "/mnt/out cannot be written: read-only file system".
 * @returns undefined for another error, or one without a path
 */
export function fileFault(thrown: unknown): LabError | undefined {
  if (!(thrown instanceof Error && "syscall" in thrown && "path" in thrown)) return undefined;
  const code = errorCode(thrown);
  const path = String(thrown.path);
  const write = WRITES.test(String(thrown.syscall)) || code === "EROFS" || code === "ENOSPC" || code === "EDQUOT";
  return new LabError("storage", `${path} cannot be ${write ? "written" : "opened"}: ${fileCause(thrown)}`, {
    subject: path,
    cause: thrown,
  });
}

/**
 * Creates a folder and those above it, one at a time, because Node's recursive call never returns in file systems like
 * /proc.
 * @throws Node's error
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (thrown) {
    // Another process was faster.
    if (errorCode(thrown) !== "EEXIST") throw thrown;
  }
}
