import { type Dirent, existsSync } from "node:fs";
import { appendFile, open, readdir, readFile, rename, rm, stat, statfs, truncate } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LabError } from "../../../src/engine/errors.ts";
import {
  comparePaths,
  contentBytes,
  missingFile,
  pathParts,
  quotaError,
  type RunStore,
  type StoredFile,
} from "../../../src/engine/storage/store.ts";
import { errorCode, fileCause, makeFolder } from "./file-fault.ts";
import { nodeSource } from "./node-files.ts";
import { LOCK_FILE, lockRun } from "./run-lock.ts";

/** Ending of a file that is being written; such files are never listed. */
const UNFINISHED = ".unfinished~";
/**
 * Maximum attempts to write a file. If another process renamed the unfinished file, which both share, this one writes
 * again.
 */
const TRIES = 50;

/** Runs in a directory, each in a folder named by its id. The directory is created with the first file. */
export function nodeStore(directory: string): RunStore {
  const full = (path: string): string => join(directory, ...pathParts(path));

  const free = async (): Promise<number | null> => {
    const info = await statfs(directory).catch(() => null);
    return info === null ? null : info.bavail * info.bsize;
  };
  const failed = async (thrown: unknown, path: string, bytes: number): Promise<LabError> => {
    if (errorCode(thrown) === "ENOSPC" || errorCode(thrown) === "EDQUOT") {
      return quotaError(path, bytes, await free(), thrown);
    }
    const message = `${full(path)} could not be written: ${fileCause(thrown)}; earlier files are kept`;
    return new LabError("storage", message, { subject: path, cause: thrown });
  };
  const list = async (prefix: string): Promise<StoredFile[]> => {
    const start = prefix === "" ? directory : full(prefix);
    const found: StoredFile[] = [];
    try {
      const info = await stat(start).catch(unlessGone);
      if (info === undefined) return [];
      if (info.isFile()) return [{ path: prefix, size: info.size }];
      for (const entry of await entriesOf(start)) {
        if (!entry.isFile() || entry.name.endsWith(UNFINISHED) || entry.name.startsWith(LOCK_FILE)) continue;
        const place = join(entry.parentPath, entry.name);
        const size = (await stat(place).catch(unlessGone))?.size;
        // Another process may have removed it meanwhile.
        if (size !== undefined)
          found.push({ path: place.slice(join(directory, "/").length).replaceAll("\\", "/"), size });
      }
    } catch (thrown) {
      throw unread(prefix === "" ? directory : prefix, thrown);
    }
    return found.sort(comparePaths);
  };

  return {
    write: async (path, content) => {
      const target = full(path);
      const bytes = contentBytes(content);
      for (let tries = 1; ; tries++) {
        try {
          makeFolder(dirname(target));
          const handle = await open(target + UNFINISHED, "w");
          try {
            await handle.writeFile(bytes);
            await handle.sync();
          } finally {
            await handle.close();
          }
          await rename(target + UNFINISHED, target);
          return;
        } catch (thrown) {
          if (errorCode(thrown) === "ENOENT" && tries < TRIES) continue;
          // The first error is reported; the next write replaces what is left.
          await rm(target + UNFINISHED, { force: true }).catch(() => undefined);
          throw await failed(thrown, path, bytes.length);
        }
      }
    },
    append: async (path, content) => {
      const bytes = contentBytes(content);
      let before: number | undefined;
      try {
        makeFolder(dirname(full(path)));
        before = (await stat(full(path)).catch(unlessGone))?.size ?? 0;
        await appendFile(full(path), bytes, { flush: true });
      } catch (thrown) {
        // Undo a partial append, so that the bytes can be written again. The first error is reported.
        if (before !== undefined) await truncate(full(path), before).catch(() => undefined);
        throw await failed(thrown, path, bytes.length);
      }
    },
    read: async (path) => {
      const buffer = await readFile(full(path)).catch((thrown: unknown) => {
        throw unread(path, thrown);
      });
      return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length) as Uint8Array<ArrayBuffer>;
    },
    readText: async (path) =>
      readFile(full(path), "utf8").catch((thrown: unknown) => {
        throw unread(path, thrown);
      }),
    open: async (path) =>
      nodeSource(full(path), path).catch((thrown: unknown) => {
        const cause = thrown instanceof LabError ? thrown.cause : thrown;
        throw cause === undefined ? missingFile(path, thrown) : unread(path, cause);
      }),
    size: async (path) => {
      const info = await stat(full(path)).catch((thrown: unknown) => missingOrThrow(path, thrown));
      return info?.isFile() === true ? info.size : null;
    },
    list,
    names: async (path) => {
      const place = path === "" ? directory : full(path);
      const found = (await readdir(place).catch((thrown: unknown) => missingOrThrow(path || directory, thrown))) ?? [];
      return found.filter((name) => !name.endsWith(UNFINISHED) && !name.startsWith(LOCK_FILE)).sort();
    },
    hold: async (runId) => {
      try {
        return lockRun(full(runId), runId, new Date().toISOString());
      } catch (thrown) {
        throw thrown instanceof LabError ? thrown : await failed(thrown, `${runId}/${LOCK_FILE}`, 0);
      }
    },
    remove: async (prefix) => {
      const place = full(prefix);
      await rm(place, { recursive: true, force: true }).catch((thrown: unknown) => {
        const message = `${prefix} could not be removed: ${fileCause(thrown)}; what is left of it can be removed later`;
        throw new LabError("storage", message, { subject: prefix, cause: thrown });
      });
    },
    usage: async () => {
      const usage = (await list("")).reduce((sum, file) => sum + file.size, 0);
      const room = await free();
      return { usage, quota: room === null ? Number.POSITIVE_INFINITY : usage + room };
    },
  };
}

/** All entries below a folder; reads again if another process removes a folder meanwhile. */
async function entriesOf(folder: string): Promise<Dirent[]> {
  for (let tries = 1; ; tries++) {
    const found = await readdir(folder, { withFileTypes: true, recursive: true }).catch((thrown: unknown) => {
      if (tries === TRIES) throw thrown;
      return unlessGone(thrown);
    });
    if (found !== undefined) return found;
    if (!existsSync(folder)) return [];
  }
}

/** Returns if a file or folder no longer exists; rethrows any other failure. */
function unlessGone(thrown: unknown): undefined {
  if (errorCode(thrown) !== "ENOENT") throw thrown;
}

/** Returns if there is no file or folder of that path; throws the sentence of any other failure. */
function missingOrThrow(path: string, thrown: unknown): undefined {
  if (!isMissing(thrown)) throw unread(path, thrown);
}

function isMissing(thrown: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "EISDIR"].includes(String(errorCode(thrown)));
}

function unread(path: string, thrown: unknown): LabError {
  if (isMissing(thrown)) return missingFile(path, thrown);
  return new LabError("storage", `${path} could not be read: ${fileCause(thrown)}`, { subject: path, cause: thrown });
}
