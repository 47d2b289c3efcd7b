/**
 * Runs in the origin private file system (OPFS). Writing needs synchronous handles, which only dedicated workers have.
 * Content is written to a second file, flushed, and then renamed.
 */
import { inOrder } from "../bytes/pace.ts";
import { type ByteSource, blobSource } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import {
  comparePaths,
  contentBytes,
  missingFile,
  pathParts,
  quotaError,
  type RunStore,
  type StoredFile,
  type StoreUsage,
} from "./store.ts";

/** Folder entries read at a time. */
const AT_ONCE = 16;
/** Maximum bytes per handle call: a single array of 2 GB fails in browsers. */
const PIECE = 64 * 2 ** 20;
/** Suffixes of the second file and of its completion marker; they cannot occur in escaped names. */
const NEW = ".%new";
const READY = ".%ready";

/** A browser file handle; the type library lacks `move`. */
interface MovableFile extends FileSystemFileHandle {
  move?(name: string): Promise<void>;
}

/** Storage estimate of the origin in bytes; implemented by `navigator.storage`. */
interface StorageEstimator {
  estimate(): Promise<{ usage?: number; quota?: number }>;
}

/** The store of this origin's runs, converted models, frozen features, evaluations, measured difficulty or tuning tables. @throws LabError("storage") without a private file system */
export async function openOpfsStore(
  folder: "runs" | "models" | "features" | "evaluations" | "difficulty" | "tables" = "runs",
  storage: StorageManager = navigator.storage,
): Promise<RunStore> {
  try {
    const root = await storage.getDirectory();
    return opfsStore(await root.getDirectoryHandle(folder, { create: true }), storage);
  } catch (thrown) {
    const full = nameOf(thrown) === "QuotaExceededError";
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    const why = full ? "The browser's storage is full" : `This browser offers no file storage (${cause})`;
    throw new LabError("storage", `${why}; ${folder} cannot be stored`, { cause: thrown });
  }
}

/** Milliseconds between two uses; far fewer than the ten minutes after which files are lost. */
const USED_EVERY = 2 * 60_000;

/**
 * Uses the origin's file system every two minutes while this worker lives. Chromium forgets all files of a private window
 * whose file system was not used for ten minutes, and a step of a large model may take longer. Looking up a folder counts;
 * `getDirectory` and `estimate` alone do not (tests/scripts/soak.ts --idle).
 */
export function keepFilesInUse(storage: StorageManager = navigator.storage): void {
  // Without a file system there is nothing to lose; a call that stores something reports its error.
  setInterval(() => openOpfsStore("runs", storage).catch(() => undefined), USED_EVERY);
}

/** A store below any OPFS directory. */
export function opfsStore(root: FileSystemDirectoryHandle, storage: StorageEstimator): RunStore {
  const folder = async (parts: readonly string[], create: boolean): Promise<FileSystemDirectoryHandle | null> => {
    let at = root;
    for (const part of parts) {
      const next = await optional(at.getDirectoryHandle(escapeName(part), { create }));
      if (next === null) return null;
      at = next;
    }
    return at;
  };
  /** Folder handle and escaped name of a file; null when the folder is missing. */
  const place = async (path: string, create: boolean) => {
    const parts = pathParts(path);
    const parent = await folder(parts.slice(0, -1), create);
    return parent === null ? null : { parent, name: escapeName(parts.at(-1) as string) };
  };
  const find = async (path: string): Promise<FileSystemFileHandle | null> => {
    const at = await place(path, false);
    if (at === null) return null;
    try {
      await finishSwitch(at.parent, at.name);
    } catch (thrown) {
      if (nameOf(thrown) !== "QuotaExceededError") throw thrown;
      // Without room the second file stays, which is whole.
      return optional(at.parent.getFileHandle(at.name + NEW));
    }
    return optional(at.parent.getFileHandle(at.name));
  };
  /** Completes an interrupted replacement, which may fail. */
  const sizeAt = (path: string): Promise<number | null> => stable(path, async () => sizeOf(await find(path)));
  const file = async (path: string): Promise<File> => {
    const handle = await find(path);
    if (handle === null) throw missingFile(path);
    return allowed(handle.getFile());
  };
  const failed = async (thrown: unknown, path: string, bytes: number): Promise<LabError> => {
    if (nameOf(thrown) === "QuotaExceededError") {
      const { usage, quota } = await room(storage);
      return quotaError(path, bytes, Number.isFinite(quota) ? quota - usage : null, thrown);
    }
    return storageError(`${path} could not be written`, "; earlier files are kept", path, thrown);
  };

  return {
    write: async (path, content) => {
      const bytes = contentBytes(content);
      try {
        const at = await place(path, true);
        if (at === null) throw missingFile(path);
        await finishSwitch(at.parent, at.name);
        await replace(at.parent, at.name, bytes);
      } catch (thrown) {
        throw await failed(thrown, path, bytes.length);
      }
    },
    append: async (path, content) => {
      const bytes = contentBytes(content);
      try {
        const at = await place(path, true);
        if (at === null) throw missingFile(path);
        await finishSwitch(at.parent, at.name);
        await put(await at.parent.getFileHandle(at.name, { create: true }), bytes, "append");
      } catch (thrown) {
        throw await failed(thrown, path, bytes.length);
      }
    },
    read: async (path) => {
      const bytes = await stable(path, async () => (await file(path)).arrayBuffer());
      return new Uint8Array(bytes);
    },
    readText: (path) => stable(path, async () => (await file(path)).text()),
    open: (path): Promise<ByteSource> => stable(path, async () => blobSource(path, await file(path))),
    size: sizeAt,
    list: async (prefix) => {
      if (prefix !== "") {
        const size = await sizeAt(prefix);
        if (size !== null) return [{ path: prefix, size }];
      }
      const start = await folder(prefix === "" ? [] : pathParts(prefix), false);
      const found: StoredFile[] = [];
      if (start !== null) await collect(start, prefix, found);
      return found.sort(comparePaths);
    },
    names: async (path) => {
      const at = await folder(path === "" ? [] : pathParts(path), false);
      const entries = at === null ? [] : await entriesOf(at);
      return entries.map(({ part }) => part).sort();
    },
    remove: async (prefix) => {
      try {
        const at = await place(prefix, false);
        if (at === null) return;
        for (const name of [at.name + READY, at.name + NEW, at.name]) {
          await optional(at.parent.removeEntry(name, { recursive: true }));
        }
      } catch (thrown) {
        throw storageError(
          `${prefix} could not be removed`,
          "; what is left of it can be removed later",
          prefix,
          thrown,
        );
      }
    },
    usage: () => room(storage),
    fits: (bytes) => fits(root, bytes),
  };
}

/** Name of the probe file; listings leave out its suffix. */
const TRIAL = `room${NEW}`;

/**
 * The quota that browsers report differs from the one they enforce, so space is probed: an empty file of that length is
 * created and removed, which writes nothing.
 */
async function fits(root: FileSystemDirectoryHandle, bytes: number): Promise<boolean> {
  try {
    const handle = await (await root.getFileHandle(TRIAL, { create: true })).createSyncAccessHandle();
    try {
      handle.truncate(bytes);
      // In private windows Chrome reports no error, but the file stays short.
      return handle.getSize() === bytes;
    } finally {
      handle.close();
      await optional(root.removeEntry(TRIAL));
    }
  } catch (thrown) {
    // Other errors, such as a probe in another tab, say nothing about space; the write shows whether there is room.
    return nameOf(thrown) !== "QuotaExceededError";
  }
}

/** Escapes a path part for every file system: letters, digits, ".", "_" and "-" stay, all else is %XX of UTF-8. */
export function escapeName(part: string): string {
  return encodeURIComponent(part).replace(
    /[!'()*~]|^\.|\.$/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

/** Write → flush → rename. Without `move`, a marker records that the new file is complete before the old is overwritten. */
async function replace(parent: FileSystemDirectoryHandle, name: string, bytes: Uint8Array): Promise<void> {
  const fresh: MovableFile = await parent.getFileHandle(name + NEW, { create: true });
  try {
    await put(fresh, bytes, "truncate");
    if (fresh.move !== undefined) {
      await fresh.move(name);
      return;
    }
  } catch (thrown) {
    await optional(parent.removeEntry(name + NEW));
    throw thrown;
  }
  await put(await parent.getFileHandle(name + READY, { create: true }), Uint8Array.of(1), "truncate");
  await finishSwitch(parent, name);
}

/** Completes a replacement that was interrupted after the marker; does nothing otherwise. */
async function finishSwitch(parent: FileSystemDirectoryHandle, name: string): Promise<void> {
  const note = await optional(parent.getFileHandle(name + READY));
  if (note === null) return;
  if ((await sizeOf(note)) === 1) {
    const fresh = await optional(parent.getFileHandle(name + NEW));
    if (fresh !== null) {
      const source = await fresh.getFile();
      const target = await (await parent.getFileHandle(name, { create: true })).createSyncAccessHandle();
      try {
        target.truncate(0);
        for (let at = 0; at < source.size; at += PIECE) {
          const piece = new Uint8Array(await source.slice(at, at + PIECE).arrayBuffer());
          writeAll(target, piece, at);
        }
        target.flush();
      } finally {
        target.close();
      }
    }
  }
  // The marker last: without it, a second file that is left would never be removed.
  await optional(parent.removeEntry(name + NEW));
  await optional(parent.removeEntry(name + READY));
}

async function put(file: FileSystemFileHandle, bytes: Uint8Array, mode: "truncate" | "append"): Promise<void> {
  const handle = await file.createSyncAccessHandle();
  try {
    if (mode === "truncate") handle.truncate(0);
    const start = handle.getSize();
    try {
      for (let at = 0; at < bytes.length; at += PIECE) writeAll(handle, bytes.subarray(at, at + PIECE), start + at);
      handle.flush();
    } catch (thrown) {
      // Remove all of it, so that it can be written again.
      handle.truncate(start);
      throw thrown;
    }
  } finally {
    handle.close();
  }
}

function writeAll(handle: FileSystemSyncAccessHandle, bytes: Uint8Array, at: number): void {
  let done = 0;
  while (done < bytes.length) {
    const written = handle.write(bytes.subarray(done) as Uint8Array<ArrayBuffer>, { at: at + done });
    // Chrome's private windows return 2^32 − 8 when there is no room.
    if (written === 0 || written > bytes.length - done)
      throw new DOMException("The file system is full", "QuotaExceededError");
    done += written;
  }
}

/** Adds the files below a folder; files that another worker removes meanwhile are left out. */
async function collect(folder: FileSystemDirectoryHandle, prefix: string, found: StoredFile[]): Promise<void> {
  const entries = await entriesOf(folder);
  const add = async ({ part, handle }: Entry): Promise<void> => {
    const path = prefix === "" ? part : `${prefix}/${part}`;
    if (handle.kind === "directory") return collect(handle as FileSystemDirectoryHandle, path, found);
    const size = await sizeOf(handle as FileSystemFileHandle);
    if (size !== null) found.push({ path, size });
  };
  for await (const done of inOrder(entries.length, AT_ONCE, (at) => add(entries[at] as Entry))) {
    if ("thrown" in done) throw done.thrown;
  }
}

interface Entry {
  readonly part: string;
  readonly handle: FileSystemHandle;
}

/** The direct entries of a folder under names that this store writes, without the second files of replacements. */
async function entriesOf(folder: FileSystemDirectoryHandle): Promise<Entry[]> {
  const entries: Entry[] = [];
  const listed = folder.entries();
  for (;;) {
    const next = await optional(listed.next());
    if (next === null || next.done === true) return entries;
    const [name, handle] = next.value;
    const part = name.endsWith(NEW) || name.endsWith(READY) ? null : decodedName(name);
    if (part !== null) entries.push({ part, handle });
  }
}

/** The path part of an escaped name; null for invalid escapes. */
function decodedName(name: string): string | null {
  try {
    return decodeURIComponent(name);
  } catch (thrown) {
    if (thrown instanceof URIError) return null;
    throw thrown;
  }
}

/** Bytes of a file; null if it does not exist. */
async function sizeOf(handle: FileSystemFileHandle | null): Promise<number | null> {
  const file = handle === null ? null : await optional(handle.getFile());
  return file?.size ?? null;
}

/** A File becomes unreadable when another worker changes it; the new one is then read. */
async function stable<T>(path: string, read: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await read();
    } catch (thrown) {
      const changed = nameOf(thrown) === "NotReadableError" || nameOf(thrown) === "NotFoundError";
      if (changed && attempt < 4) continue;
      throw storageError(`${path} could not be read`, "", path, thrown);
    }
  }
}

/** The sentence for an error of the file system; a LabError stays as it is. */
function storageError(what: string, kept: string, subject: string, thrown: unknown): LabError {
  if (thrown instanceof LabError) return thrown;
  const cause = thrown instanceof Error ? thrown.message : String(thrown);
  return new LabError("storage", `${what} (${cause})${kept}`, { subject, cause: thrown });
}

/** The value, or null when the entry does not exist or is a folder. @throws LabError for a folder that may not be read */
function optional<T>(promise: Promise<T>): Promise<T | null> {
  return allowed(promise).catch((thrown: unknown) => {
    if (nameOf(thrown) === "NotFoundError" || nameOf(thrown) === "TypeMismatchError") return null;
    throw thrown;
  });
}

/** @throws LabError where the browser withdrew its permission */
function allowed<T>(promise: Promise<T>): Promise<T> {
  return promise.catch((cause: unknown) => {
    if (nameOf(cause) !== "NotAllowedError") throw cause;
    throw new LabError("storage", "The browser no longer allows access to this folder; choose it again", { cause });
  });
}

async function room(storage: StorageEstimator): Promise<StoreUsage> {
  const { usage, quota } = await storage.estimate();
  return { usage: usage ?? 0, quota: quota ?? Number.POSITIVE_INFINITY };
}

function nameOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : "";
}
