/**
 * Where runs live: the origin's private file system in a tab, a directory under Node, a map in tests. Paths are
 * "/" separated and relative; the first part is the id of a run.
 */
import type { ByteSource } from "../bytes/source.ts";
import { LabError } from "../errors.ts";

export interface StoredFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
}

export interface StoreUsage {
  /** Bytes taken. */
  readonly usage: number;
  /** Bytes there may be in all; Infinity when the place sets no limit. */
  readonly quota: number;
}

export interface RunStore {
  /** Replaces the file as a whole: a reader, also one after a crash, sees the old or the new content, never a mixture. */
  write(path: string, content: Uint8Array | string): Promise<void>;
  /** Adds to the end (creating the file) and flushes; a crash can leave a part of `content`. */
  append(path: string, content: Uint8Array | string): Promise<void>;
  /** @throws LabError("storage") when there is no such file */
  read(path: string): Promise<Uint8Array<ArrayBuffer>>;
  /** As read, decoded as UTF-8. */
  readText(path: string): Promise<string>;
  /** Random access, for files too large to hold. @throws LabError("storage") when there is no such file */
  open(path: string): Promise<ByteSource>;
  /** Bytes of the file, or null when there is none. */
  size(path: string): Promise<number | null>;
  /** The file of that path or all files below that folder ("" for everything), sorted by path. */
  list(prefix: string): Promise<readonly StoredFile[]>;
  /** Removes the file or the folder with all it holds; nothing happens when there is none. "" is refused. */
  remove(prefix: string): Promise<void>;
  usage(): Promise<StoreUsage>;
  /**
   * Takes a run for this process, where other processes may write to the same place.
   * @returns the function that gives it back
   * @throws LabError("bad-input") naming the process that has it
   */
  hold?(runId: string): Promise<() => void>;
  /** Whether so many more bytes would be taken, where that can be tried without writing them. */
  fits?(bytes: number): Promise<boolean>;
}

const ENCODER = new TextEncoder();

/** Content as bytes; text becomes UTF-8. */
export function contentBytes(content: Uint8Array | string): Uint8Array {
  return typeof content === "string" ? ENCODER.encode(content) : content;
}

/** Parts of a path. @throws LabError("storage") for an absolute path or one with empty, "." or ".." parts */
export function pathParts(path: string): readonly string[] {
  const parts = path.split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) {
    throw new LabError("storage", `"${path}" is no path inside the run store`, { subject: path });
  }
  return parts;
}

/** Whether `path` is `prefix` itself or lies below it. */
export function isBelow(path: string, prefix: string): boolean {
  return prefix === "" || path === prefix || path.startsWith(`${prefix}/`);
}

export function comparePaths(a: StoredFile, b: StoredFile): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}

export function missingFile(path: string, cause?: unknown): LabError {
  return new LabError("storage", `${path} is not in the run store`, { subject: path, cause });
}

/** The error for a full disk. `available` is null where the place does not tell. */
export function quotaError(path: string, needed: number, available: number | null, cause?: unknown): LabError {
  const room = available === null ? "the store is full" : `${Math.max(0, available)} bytes are free`;
  return new LabError(
    "storage",
    `${path} needs ${needed} bytes and ${room}; it was not written and earlier files are kept`,
    { subject: path, cause },
  );
}
