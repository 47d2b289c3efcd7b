/** Output folders that appear only when they are complete. */
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ByteFolder } from "../../src/engine/bytes/source.ts";
import { badInput, LabError } from "../../src/engine/errors.ts";
import type { ExportFile, ExportFiles } from "../../src/engine/export/export-file.ts";
import { fileCause, makeFolder } from "./node/file-fault.ts";
import { nodeFolder } from "./node/node-files.ts";
import { onStopSignal } from "./stop-signal.ts";

export interface OutFolder {
  /** Folder of the files until the output is complete. */
  readonly path: string;
  add(files: ExportFiles): Promise<void>;
  /** The files so far, to check what is on disk. @throws LabError("storage") when they cannot be opened */
  readBack(): Promise<ByteFolder>;
}

export interface WrittenFolder {
  /** Sorted by path. */
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/**
 * Writes next to the target and renames it at the end; after an error or a stop nothing remains.
 * @throws LabError("bad-input") when the target is not empty, LabError("storage") naming a file that could not be
 * written, LabError("cancelled") after a signal; Node's error when the target is not a folder
 */
export async function writeOut(target: string, fill: (out: OutFolder) => Promise<void>): Promise<WrittenFolder> {
  const unwritable = (cause: unknown): never => {
    throw badInput(`${target} cannot be written: ${fileCause(cause)}; nothing was written`, target, cause);
  };
  const before = await readdir(target).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return null;
    if (thrown.code === "ENOTDIR") throw thrown;
    return unwritable(thrown);
  });
  if (before !== null && before.length > 0) throw badInput(`${target} is not empty; nothing was written`, target);
  const unfinished = `${target}.unfinished~`;
  await rm(unfinished, { recursive: true, force: true }).catch(unwritable);
  try {
    makeFolder(unfinished);
  } catch (cause) {
    unwritable(cause);
  }
  const files: { path: string; size: number }[] = [];
  const stop = new AbortController();
  const leave = onStopSignal(() => stop.abort(), "nothing incomplete is kept");
  try {
    await fill({
      path: unfinished,
      async add(list) {
        for await (const file of list) {
          files.push({ path: file.path, size: await writeFile(unfinished, file, stop.signal) });
        }
      },
      readBack: () =>
        nodeFolder(unfinished).catch((cause: unknown) => {
          throw unwritten(target, cause);
        }),
    });
    refuseStopped(stop.signal);
    try {
      if (before !== null) await rm(target, { recursive: true });
      await rename(unfinished, target);
    } catch (cause) {
      throw unwritten(target, cause);
    }
  } catch (thrown) {
    // The first error is reported; the next export removes what is left.
    await rm(unfinished, { recursive: true, force: true }).catch(() => undefined);
    throw thrown;
  } finally {
    leave();
  }
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) };
}

/** @returns the bytes of the file */
async function writeFile(folder: string, { path, pieces }: ExportFile, signal: AbortSignal): Promise<number> {
  const full = join(folder, path);
  const done = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      throw unwritten(path, cause);
    }
  };
  await done(mkdir(dirname(full), { recursive: true }));
  const handle = await done(open(full, "w"));
  let size = 0;
  try {
    for await (const piece of pieces()) {
      refuseStopped(signal);
      await done(handle.writeFile(piece));
      size += piece.length;
    }
    await done(handle.sync());
  } finally {
    await handle.close();
  }
  return size;
}

function unwritten(path: string, cause: unknown): LabError {
  return new LabError("storage", `${path} could not be written: ${fileCause(cause)}; nothing of the export was kept`, {
    subject: path,
    cause,
  });
}

function refuseStopped({ aborted }: AbortSignal): void {
  if (aborted) throw new LabError("cancelled", "The export was stopped; nothing of it was kept");
}
