/** Read-only runs in a folder: the recorded run served with the page, or an exported run. */
import type { ByteFolder, ByteSource } from "../bytes/source.ts";
import { LabError } from "../errors.ts";
import { comparePaths, isBelow, missingFile, namesIn, type RunStore } from "./store.ts";

/** @param folder paths as in a store: `<run>/run.json`, `<run>/metrics.jsonl`, … */
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
