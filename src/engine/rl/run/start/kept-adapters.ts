/**
 * Adapters of a run, stored in its folder, so that resuming does not need the original files: the one it started from,
 * and the one that computes likelihoods.
 */
import { type ByteSource, folderOf } from "../../../bytes/source.ts";
import { badInput } from "../../../errors.ts";
import { readStartAdapter, type StartAdapter } from "../../../model/adapter/start-adapter.ts";
import type { Sa2vaModel } from "../../../model/sa2va.ts";
import type { RunManifest } from "../../../runs/manifest.ts";
import type { RunStore } from "../../../storage/store.ts";

/** Subfolder of the run folder. */
export type KeptPlace = "start" | "captioner";

/** Copies the adapter's files into the run. */
export async function keepAdapter(
  store: RunStore,
  runId: string,
  place: KeptPlace,
  adapter: StartAdapter,
): Promise<void> {
  for (const [path, bytes] of Object.entries(adapter.files)) await store.write(`${runId}/${place}/${path}`, bytes);
}

/**
 * @param expected the adapter as the manifest names it; undefined returns undefined
 * @throws LabError("bad-input") when the files are missing or changed
 */
export async function keptAdapter(
  store: RunStore,
  runId: string,
  place: KeptPlace,
  model: Sa2vaModel,
  expected: RunManifest["startAdapter"],
): Promise<StartAdapter | undefined> {
  if (expected === undefined) return undefined;
  const prefix = `${runId}/${place}/`;
  const files = new Map<string, ByteSource>();
  for (const { path } of await store.list(`${runId}/${place}`)) {
    files.set(path.slice(prefix.length), await store.open(path));
  }
  const target = { language: model.config.language, base: model.base };
  const kept = await readStartAdapter(folderOf(files), target, expected.name);
  if (kept.hash === expected.hash) return kept;
  throw badInput(
    `Run "${runId}" uses the adapter "${expected.name}", but the files in its ${place} folder differ`,
    `${runId}/${place}`,
  );
}
