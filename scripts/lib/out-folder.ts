/** Output folders that appear only when they are complete. */
import { mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LabError } from "../../src/engine/errors.ts";
import type { ExportFiles } from "../../src/engine/export/export-file.ts";

export interface OutFolder {
  /** Where the files lie until the folder is complete. */
  readonly path: string;
  add(files: ExportFiles): Promise<void>;
}

export interface WrittenFolder {
  /** Sorted by path. */
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/**
 * Writes beside the target and puts it in place at the end; after an error nothing is left.
 * @throws LabError("bad-input") when the target holds something already; Node's error when it is no folder
 */
export async function writeOut(target: string, fill: (out: OutFolder) => Promise<void>): Promise<WrittenFolder> {
  const before = await readdir(target).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === "ENOENT") return null;
    throw thrown;
  });
  if (before !== null && before.length > 0) {
    throw new LabError("bad-input", `${target} is not empty; nothing was written`, { subject: target });
  }
  const unfinished = `${target}.unfinished~`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  const files: { path: string; size: number }[] = [];
  try {
    await fill({
      path: unfinished,
      async add(list) {
        for await (const file of list) {
          const full = join(unfinished, file.path);
          await mkdir(dirname(full), { recursive: true });
          const handle = await open(full, "w");
          try {
            for await (const piece of file.pieces()) await handle.writeFile(piece);
            await handle.sync();
          } finally {
            await handle.close();
          }
          files.push({ path: file.path, size: (await stat(full)).size });
        }
      },
    });
    if (before !== null) await rm(target, { recursive: true });
    await rename(unfinished, target);
  } catch (thrown) {
    await rm(unfinished, { recursive: true, force: true });
    throw thrown;
  }
  return { files: files.sort((a, b) => (a.path < b.path ? -1 : 1)) };
}
