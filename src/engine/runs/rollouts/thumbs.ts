/** `thumbs.json` of a run folder: the user's verdicts on rollouts, for comparison with rewards. */
import * as z from "zod/mini";
import { checkShape, parseJson } from "../../bytes/json.ts";
import { oneAtATime } from "../../storage/one-at-a-time.ts";
import type { RunStore } from "../../storage/store.ts";

/** 1 up, -1 down. */
export type Thumb = 1 | -1;
/** By RolloutRecord.id. */
export type Thumbs = Readonly<Record<string, Thumb>>;

const STORED = z.record(z.string(), z.unknown());

/** @throws LabError("bad-input") when the file was not written by the lab */
export async function readThumbs(store: RunStore, id: string): Promise<Thumbs> {
  return verdicts(await stored(store, id));
}

/**
 * Adds a thumb to the existing ones, safe for concurrent calls.
 * @param thumb null removes it
 * @returns all thumbs of the run
 * @throws LabError("bad-input") when the file was not written by the lab, "storage" when it cannot be written
 */
export async function writeThumb(store: RunStore, id: string, rollout: string, thumb: Thumb | null): Promise<Thumbs> {
  const path = `${id}/thumbs.json`;
  return oneAtATime(path, async () => {
    const { [rollout]: _, ...others } = await stored(store, id);
    const thumbs = thumb === null ? others : { ...others, [rollout]: thumb };
    await write(store, id, thumbs);
    return verdicts(thumbs);
  });
}

/** Removes the thumbs of later steps. @throws LabError("bad-input") when the file was not written by the lab */
export async function truncateThumbs(store: RunStore, id: string, step: number): Promise<void> {
  const thumbs = Object.entries(await stored(store, id));
  const kept = thumbs.filter(([rollout]) => !(Number.parseInt(rollout, 10) > step));
  if (kept.length < thumbs.length) await write(store, id, Object.fromEntries(kept));
}

/** The file's content; unknown values are kept: another program may have written them. */
async function stored(store: RunStore, id: string): Promise<Readonly<Record<string, unknown>>> {
  const path = `${id}/thumbs.json`;
  if ((await store.size(path)) === null) return {};
  return checkShape(parseJson(await store.readText(path), path), STORED, path);
}

function verdicts(thumbs: Readonly<Record<string, unknown>>): Thumbs {
  const entries = Object.entries(thumbs);
  return Object.fromEntries(entries.filter((entry): entry is [string, Thumb] => entry[1] === 1 || entry[1] === -1));
}

async function write(store: RunStore, id: string, thumbs: Readonly<Record<string, unknown>>): Promise<void> {
  await store.write(`${id}/thumbs.json`, `${JSON.stringify(thumbs, null, 2)}\n`);
}
