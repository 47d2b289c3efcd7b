/** Writes a merged checkpoint into a folder that the user chose, reads it back and checks it before accepting it. */
import type { ByteFolder } from "../src/engine/bytes/source.ts";
import { pickedFolder } from "../src/engine/data/blob-source.ts";
import { badInput } from "../src/engine/errors.ts";
import { adapterFiles } from "../src/engine/export/adapter.ts";
import { checkMerged } from "../src/engine/export/check-merged.ts";
import { below, type ExportFiles } from "../src/engine/export/export-file.ts";
import { mergedFiles } from "../src/engine/export/merged.ts";
import { passingHash } from "../src/engine/model/weights/weights-hash.ts";
import { readTrained } from "../src/engine/runs/checkpoint/trained.ts";
import { openRun } from "../src/engine/runs/run-folder.ts";
import type { RunStore } from "../src/engine/storage/store.ts";
import type { Merged } from "../src/protocol/trainer.ts";

/**
 * @param options `onProgress` receives the number of tensors written and in total
 * @throws LabError naming what does not fit or differs, LabError("cancelled"); the new folder is removed then
 */
export async function mergeInto(
  target: FileSystemDirectoryHandle,
  base: ByteFolder,
  store: RunStore,
  runId: string,
  options: { readonly onProgress: (done: number, total: number) => void; readonly signal: AbortSignal },
): Promise<Merged> {
  const run = await openRun(store, runId);
  const { model } = run.manifest();
  const passing = await passingHash(base);
  const checkBase = async (): Promise<void> => {
    if ((await passing.hash()) === model.hash) return;
    throw badInput(`Run "${runId}" was trained on ${model.name}; open that model to merge`, runId);
  };
  // The hash of a checkpoint on a server is known once all its bytes have been read.
  if (passing.folder === base) await checkBase();
  const trained = await readTrained(store, runId, null, "policy");
  const folder = `${runId}-merged`;
  const out = await target.getDirectoryHandle(folder, { create: true });
  for await (const name of out.keys()) {
    throw badInput(`${folder} already contains ${name}; nothing was written`, folder);
  }
  let missingCode: readonly string[] = [];
  try {
    const onMissingCode = (files: readonly string[]): void => {
      missingCode = files;
    };
    await write(out, mergedFiles(passing.folder, trained, { dtype: null, ...options, onMissingCode }));
    if (passing.folder !== base) await checkBase();
    const check = await checkMerged(base, trained, await readBack(out), null);
    await write(out, below("adapter", adapterFiles(run.manifest(), trained)));
    return { ...check, folder, missingCode };
  } catch (thrown) {
    await target.removeEntry(folder, { recursive: true });
    throw thrown;
  }
}

async function write(out: FileSystemDirectoryHandle, files: ExportFiles): Promise<void> {
  for await (const file of files) {
    const parts = file.path.split("/");
    let folder = out;
    for (const part of parts.slice(0, -1)) folder = await folder.getDirectoryHandle(part, { create: true });
    const handle = await folder.getFileHandle(parts.at(-1) ?? "", { create: true });
    const stream = await handle.createWritable();
    try {
      for await (const piece of file.pieces()) await stream.write(piece);
    } catch (thrown) {
      await stream.abort();
      throw thrown;
    }
    await stream.close();
  }
}

async function readBack(out: FileSystemDirectoryHandle): Promise<ByteFolder> {
  const files: { path: string; file: Blob }[] = [];
  for await (const [path, handle] of out.entries()) {
    if (handle.kind === "file") files.push({ path, file: await (handle as FileSystemFileHandle).getFile() });
  }
  return pickedFolder(files);
}
