/** Finds runs among picked files: an exported zip or a run folder, read in place. */
import { isRecord, parseJson } from "../src/engine/bytes/json.ts";
import { type ByteSource, folderOf } from "../src/engine/bytes/source.ts";
import { openArchives } from "../src/engine/data/region-set.ts";
import { badInput } from "../src/engine/errors.ts";
import { runLibrary } from "../src/engine/runs/library/library.ts";
import type { RunStore } from "../src/engine/storage/store.ts";
import { folderStore } from "../src/engine/storage/store.ts";
import type { FolderRef } from "../src/protocol/common.ts";
import { openFolder } from "./folders.ts";

export interface FoundRun {
  readonly id: string;
  /** Read-only. */
  readonly store: RunStore;
}

/**
 * The run in these files; null if there is none.
 * @throws LabError for several runs, or when one of the run's files is damaged
 */
export async function runIn(ref: FolderRef): Promise<FoundRun | null> {
  const { folder } = await openArchives(await openFolder(ref));
  const homes = folder.paths.filter((path) => /(^|\/)run\.json$/.test(path)).map((path) => path.slice(0, -8));
  const [home] = homes;
  if (home === undefined) return null;
  if (homes.length > 1) throw badInput(`${homes.length} runs were dropped; drop one at a time. Nothing was changed`);
  const manifest = folder.get(`${home}run.json`) as ByteSource;
  const text = new TextDecoder().decode(await manifest.read(0, manifest.size));
  const value: unknown = parseJson(text, `${home}run.json`);
  const id = isRecord(value) && typeof value.id === "string" ? value.id : "";
  if (!/^[\w-]+$/.test(id)) throw badInput(`${home}run.json has no valid run id; nothing was changed`);
  const files = new Map<string, ByteSource>();
  for (const path of folder.paths) {
    if (path.startsWith(home)) files.set(`${id}/${path.slice(home.length)}`, folder.get(path) as ByteSource);
  }
  const store = folderStore(folderOf(files));
  const library = runLibrary(store);
  // Read everything that the screens read, to refuse a damaged run as a whole.
  const { groupSteps } = await library.open(id);
  await library.evaluations(id);
  await library.alarms(id);
  for (const step of groupSteps) await library.groups(id, step);
  return { id, store };
}
