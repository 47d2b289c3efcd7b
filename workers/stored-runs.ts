/** Lists, opens, renames, compares and deletes the runs stored in this browser and those read from elsewhere. */
import { badInput } from "../src/engine/errors.ts";
import { type RunLibrary, runLibrary } from "../src/engine/runs/library/library.ts";
import type { RunNotes } from "../src/engine/runs/notes.ts";
import { thumbnailPng } from "../src/engine/runs/rollouts/thumbnails.ts";
import { listRuns } from "../src/engine/runs/run-folder.ts";
import { openOpfsStore } from "../src/engine/storage/opfs-store.ts";
import { folderStore, type RunStore } from "../src/engine/storage/store.ts";
import type { FolderRef } from "../src/protocol/common.ts";
import { addElsewhere, digestsElsewhere, libraryElsewhere, storesElsewhere } from "./elsewhere.ts";
import { openFolder } from "./folders.ts";
import { runIn } from "./import-run.ts";

let library: Promise<RunLibrary> | null = null;

/** The library; if the store could not be opened, the next request tries again. */
export async function runs(): Promise<RunLibrary> {
  library ??= openOpfsStore().then((store) => runLibrary(store));
  try {
    return await library;
  } catch (thrown) {
    library = null;
    throw thrown;
  }
}

/** Bytes and number of the files in a folder beside the runs: frozen features, or stored conversions. */
async function kept(folder: "features" | "models"): Promise<{ readonly bytes: number; readonly files: number }> {
  const files = await (await openOpfsStore(folder)).list("");
  return { bytes: files.reduce((sum, { size }) => sum + size, 0), files: files.length };
}

/**
 * The stored runs and features. The browser's estimate of what is used may leave out files that an earlier process wrote,
 * so it is at least the bytes of the files.
 */
async function storedRuns() {
  const listed = await (await runs()).list();
  const [features, models] = [await kept("features"), await kept("models")];
  const files = listed.runs.reduce((sum, { bytes }) => sum + bytes, features.bytes + models.bytes);
  return {
    ...listed,
    usage: Math.max(listed.usage, files),
    features: { bytes: features.bytes, pictures: features.files },
  };
}

/** The library that contains a run: runs from elsewhere first, then runs stored here. */
async function holding(runId: string): Promise<RunLibrary> {
  return libraryElsewhere(runId) ?? (await runs());
}

/** The run that had the last small picture: the next one is probably its, too. */
let pictured: readonly [id: string, store: RunStore] | undefined;

/** A small picture of a row that is not open, from any run that read it; null without one. */
export async function storedThumbnail(imageId: string): Promise<Blob | null> {
  const store = await openOpfsStore();
  const ids = (await store.names("")).filter((name) => !name.startsWith("."));
  const places = [...storesElsewhere(), ...ids.map((id) => [id, store] as const)];
  for (const place of pictured === undefined ? places : [pictured, ...places]) {
    const [id, from] = place;
    const png = await thumbnailPng(from, id, imageId);
    if (png === null) continue;
    pictured = place;
    return new Blob([png], { type: "image/png" });
  }
  return null;
}

/** Adds a run from elsewhere. @throws LabError("bad-input") where it would hide a stored one of the same id */
export async function addRun(runId: string, store: RunStore): Promise<void> {
  if ((await (await openOpfsStore()).size(`${runId}/run.json`)) !== null) {
    throw badInput(`Run "${runId}" is stored in this browser too; export and delete it here first`, runId);
  }
  addElsewhere(runId, store);
}

export const runCalls = {
  /**
   * Opens the runs of a folder that is served with the page. Returns the id of the first one, or null if there is none.
   */
  async recorded(baseUrl: string) {
    const store = folderStore(await openFolder({ kind: "built-in", baseUrl }));
    const { runs: found } = await listRuns(store);
    for (const run of found) addElsewhere(run.id, store);
    return found[0]?.id ?? null;
  },
  /**
   * Opens an exported run in place, or adds its steps to the stored run that it continues. Returns its id, whether it
   * is stored, and whether the stored one had everything of it already; null if the files contain no run.
   * @throws LabError when it is damaged, or stored here with other steps
   */
  async importRun(folder: FolderRef) {
    const found = await runIn(folder);
    if (found === null) return null;
    const { id, store } = found;
    const stored = (await (await openOpfsStore()).size(`${id}/run.json`)) !== null;
    const known = stored && !(await (await runs()).takeOver(id, store));
    if (!stored) addElsewhere(id, store);
    return { id, stored, known };
  },
  runs: storedRuns,
  /** Read-only runs stored elsewhere: served with the page, dropped, or at an address. */
  runsElsewhere: digestsElsewhere,
  run: async (runId: string) => (await holding(runId)).open(runId),
  runGroups: async (runId: string, step: number) => (await holding(runId)).groups(runId, step),
  /** Held-out evaluations of a run, oldest first. */
  evaluations: async (runId: string) => (await holding(runId)).evaluations(runId),
  /** Alarms of a run, oldest first. */
  alarms: async (runId: string) => (await holding(runId)).alarms(runId),
  deleteRun: async (runId: string) => (await runs()).remove(runId),
  renameRun: async (runId: string, title: string) => (await runs()).rename(runId, title),
  /** Replaces the given parts of a stored run's notes. */
  setNotes: async (runId: string, changes: Partial<RunNotes>) => (await runs()).setNotes(runId, changes),
  /** Removes the frozen features stored by runs. */
  async deleteFeatures() {
    const store = await openOpfsStore("features");
    for (const { path } of await store.list("")) await store.remove(path);
  },
};

export type StoredRuns = Awaited<ReturnType<typeof storedRuns>>;
export type StoredRun = Awaited<ReturnType<RunLibrary["open"]>>;
