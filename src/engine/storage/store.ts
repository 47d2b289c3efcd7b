/**
 * Storage of runs: the origin private file system in a tab, a directory under Node, a map in tests. Paths are relative
 * and "/" separated; the first part is the id of a run.
 */
import type { ByteFolder, ByteSource } from "../bytes/source.ts";
import { LabError, quote } from "../errors.ts";

export interface StoredFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
}

export interface StoreUsage {
  /** Bytes used. */
  readonly usage: number;
  /** Total bytes available; Infinity without a limit. */
  readonly quota: number;
}

export interface RunStore {
  /** Replaces the file atomically: a reader sees the old or the new content, even after a crash. */
  write(path: string, content: Uint8Array | string): Promise<void>;
  /**
   * Appends (creating the file if needed) and flushes. A crash can leave part of `content`; an error leaves none of it
   * if the file can still be changed.
   */
  append(path: string, content: Uint8Array | string): Promise<void>;
  /** @throws LabError("storage") when the file does not exist */
  read(path: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Like read, decoded as UTF-8. */
  readText(path: string): Promise<string>;
  /** Random access, for large files. @throws LabError("storage") when the file does not exist */
  open(path: string): Promise<ByteSource>;
  /** Bytes of the file, or null when there is none. */
  size(path: string): Promise<number | null>;
  /** The file of that path or all files below that folder ("" for everything), sorted by path. */
  list(prefix: string): Promise<readonly StoredFile[]>;
  /** Names of the files and folders directly in a folder ("" for the top), sorted; no file is opened for its size. */
  names(folder: string): Promise<readonly string[]>;
  /** Removes the file, or the folder with its content; does nothing if it does not exist. "" is refused. */
  remove(prefix: string): Promise<void>;
  usage(): Promise<StoreUsage>;
  /**
   * Locks a run for this process, if other processes may write to the same store.
   * @returns the function that releases it
   * @throws LabError("bad-input") naming the process that holds it
   */
  hold?(runId: string): Promise<() => void>;
  /** Whether the content is discarded after the run, which makes checkpoints useless. */
  readonly scratch?: boolean;
  /** Whether this many more bytes fit, if the store can probe it without writing them. */
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
    throw new LabError("storage", `"${path}" is not a path inside the run store`, { subject: path });
  }
  return parts;
}

/** Whether `path` is `prefix` itself or lies below it. */
export function isBelow(path: string, prefix: string): boolean {
  return prefix === "" || path === prefix || path.startsWith(`${prefix}/`);
}

/** Names of the direct entries of a folder, from the paths of all files, sorted. */
export function namesIn(paths: Iterable<string>, folder: string): string[] {
  const names = new Set<string>();
  for (const path of paths) {
    if (folder === "") names.add(path.split("/")[0] as string);
    else if (path.startsWith(`${folder}/`)) names.add(path.slice(folder.length + 1).split("/")[0] as string);
  }
  return [...names].sort();
}

export function comparePaths(a: StoredFile, b: StoredFile): number {
  return a.path < b.path ? -1 : a.path > b.path ? 1 : 0;
}

/** The error for a missing file. Without its `run.json` the whole run is missing, so the sentence names the run. */
export function missingFile(path: string, cause?: unknown): LabError {
  const run = /^([^/]*)\/run\.json$/.exec(path)?.[1];
  const message =
    run === undefined
      ? `${path} is missing among the stored runs; other files are kept`
      : `Run ${quote(run)} is not stored here: it was deleted, or it is stored in another browser or folder`;
  return new LabError("storage", message, { subject: path, cause });
}

/** The storage is full. A run that gets this error waits until there is room. */
export class StorageFull extends LabError {}

/**
 * The error for a full disk. `available` is the free space that the storage reports, which may be more than it grants;
 * null if unknown.
 */
export function quotaError(path: string, needed: number, available: number | null, cause?: unknown): StorageFull {
  const known = available !== null && available < needed;
  const room = known ? `${Math.max(0, available)} bytes are free` : "the storage is full";
  return new StorageFull(
    "storage",
    `${path} needs ${needed} bytes and ${room}; it was not written and earlier files are kept`,
    { subject: path, cause },
  );
}

// Free storage space.

/** Number of halvings, which makes the result exact to 1/256 of the request. */
const TRIES = 8;

/**
 * Free bytes; at least `wanted` if that many fit. If possible, space is probed by allocation, because the quota that
 * browsers report differs from the one they enforce. A probe uses the space for a moment, so do not write anything else
 * at the same time.
 * @param wanted bytes
 */
export async function freeRoom(store: RunStore, wanted: number): Promise<number> {
  if (store.fits === undefined) {
    const { usage, quota } = await store.usage();
    return quota - usage;
  }
  if (await store.fits(wanted)) return wanted;
  let [free, taken] = [0, wanted];
  for (let tries = 0; tries < TRIES; tries++) {
    const middle = Math.floor((free + taken) / 2);
    if (await store.fits(middle)) free = middle;
    else taken = middle;
  }
  return free;
}

/**
 * Read-only runs in a folder: the recorded run served with the page, or an exported run.
 * @param folder paths as in a store: `<run>/run.json`, `<run>/metrics.jsonl`, …
 */
export function folderStore(folder: ByteFolder): RunStore {
  const source = (path: string): ByteSource => {
    const found = folder.get(path);
    if (found === undefined) throw missingFile(path);
    return found;
  };
  const refuse = async (path: string): Promise<never> => {
    throw new LabError("storage", `${path} belongs to a recorded run, which cannot be changed`, { subject: path });
  };
  const read = async (path: string) => {
    const file = source(path);
    return await file.read(0, file.size);
  };
  return {
    write: refuse,
    append: refuse,
    remove: refuse,
    read,
    readText: async (path) => new TextDecoder().decode(await read(path)),
    open: async (path) => source(path),
    size: async (path) => folder.get(path)?.size ?? null,
    list: async (prefix) =>
      folder.paths
        .filter((path) => isBelow(path, prefix))
        .map((path) => ({ path, size: source(path).size }))
        .sort(comparePaths),
    names: async (of) => namesIn(folder.paths, of),
    usage: async () => ({ usage: 0, quota: 0 }),
  };
}
