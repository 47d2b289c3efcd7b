/** The adapter that a run started from, stored in the run folder, so that resuming does not need the original files. */
import { folderOf } from "../../bytes/memory.ts";
import type { ByteSource } from "../../bytes/source.ts";
import { LabError } from "../../errors.ts";
import { readStartAdapter, type StartAdapter } from "../../model/adapter/start-adapter.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import type { RunManifest } from "../../runs/manifest.ts";
import type { RunStore } from "../../storage/store.ts";

/** Folder below the run's. */
const START = "start";

/** Copies the adapter's files into the run. */
export async function keepStart(store: RunStore, runId: string, start: StartAdapter): Promise<void> {
  for (const [path, bytes] of Object.entries(start.files)) await store.write(`${runId}/${START}/${path}`, bytes);
}

/** @throws LabError("bad-input") when the files are missing or changed */
export async function keptStart(
  store: RunStore,
  runId: string,
  model: Sa2vaModel,
  expected: NonNullable<RunManifest["startAdapter"]>,
): Promise<StartAdapter> {
  const prefix = `${runId}/${START}/`;
  const files = new Map<string, ByteSource>();
  for (const { path } of await store.list(`${runId}/${START}`)) {
    files.set(path.slice(prefix.length), await store.open(path));
  }
  const target = { language: model.config.language, base: model.base };
  const start = await readStartAdapter(folderOf(files), target, expected.name);
  if (start.hash === expected.hash) return start;
  throw new LabError(
    "bad-input",
    `Run "${runId}" started from the adapter "${expected.name}", but the files in its ${START} folder differ`,
    { subject: `${runId}/${START}` },
  );
}
