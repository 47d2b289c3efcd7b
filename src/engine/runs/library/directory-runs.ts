/**
 * Runs in a folder on disk, which are read in place and may grow, such as on a shared disk that other machines write
 * to.
 */
import { isRecord, parseJson } from "../../bytes/json.ts";
import { folderOf } from "../../bytes/memory.ts";
import { badInput } from "../../errors.ts";
import { folderStore } from "../../storage/folder-store.ts";
import { opfsStore } from "../../storage/opfs-store.ts";
import { missingFile, type RunStore, type StoredFile } from "../../storage/store.ts";
import { listRuns } from "../run-folder.ts";

/**
 * @param directory one run, or the folder of several
 * @returns a read-only store that shows the folder's content at each call, and the runs that can be read now, newest
 * first
 * @throws LabError("bad-input") when it holds no run that can be read
 */
export async function directoryRuns(
  directory: FileSystemDirectoryHandle,
): Promise<{ readonly store: RunStore; readonly runIds: readonly string[] }> {
  const { write, append, remove, usage } = folderStore(folderOf(new Map()));
  const files: RunStore = {
    ...opfsStore(directory, { estimate: async () => ({}) }),
    ...{ write, append, remove, usage },
  };
  const store = (await files.size("run.json")) === null ? files : inside(files, await idOf(files, directory.name));
  const { runs, damaged } = await listRuns(store);
  if (runs.length === 0) {
    const what = damaged.length === 0 ? "holds no run" : `holds no run that can be read (${damaged.join(", ")})`;
    throw badInput(
      `The folder ${directory.name} ${what}: choose a folder with a run.json, or the folder of several runs. Nothing was changed`,
      directory.name,
    );
  }
  return { store, runIds: runs.map(({ id }) => id) };
}

async function idOf(files: RunStore, name: string): Promise<string> {
  const manifest = parseJson(await files.readText("run.json"), `${name}/run.json`);
  const id = isRecord(manifest) ? manifest.id : undefined;
  if (typeof id === "string" && /^[\w-]+$/.test(id)) return id;
  throw badInput(`${name}/run.json has no valid run id; nothing was changed`, name);
}

/** Maps the files of one run to their paths in a store of runs, below the run's id. */
function inside(files: RunStore, id: string): RunStore {
  const at = (path: string): string => {
    if (path.startsWith(`${id}/`)) return path.slice(id.length + 1);
    throw missingFile(path);
  };
  const named = ({ path, size }: StoredFile): StoredFile => ({ path: `${id}/${path}`, size });
  return {
    ...files,
    read: async (path) => files.read(at(path)),
    readText: async (path) => files.readText(at(path)),
    open: async (path) => files.open(at(path)),
    size: async (path) => (path.startsWith(`${id}/`) ? files.size(at(path)) : null),
    names: async (folder) => (folder === "" ? [id] : files.names(folder === id ? "" : at(folder))),
    list: async (prefix) => (await files.list(prefix === "" || prefix === id ? "" : at(prefix))).map(named),
  };
}
