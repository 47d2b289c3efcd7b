/** `thumbs.json` of a run folder: the user's verdicts on rollouts, for comparison with rewards. */
import { isRecord, parseJson } from "../bytes/json.ts";
import { oneAtATime } from "../storage/one-at-a-time.ts";
import type { RunStore } from "../storage/store.ts";

/** 1 up, -1 down. */
export type Thumb = 1 | -1;
/** By RolloutRecord.id. */
export type Thumbs = Readonly<Record<string, Thumb>>;

/** @throws LabError("bad-input") when the file was not written by the lab */
export async function readThumbs(store: RunStore, id: string): Promise<Thumbs> {
  const path = `${id}/thumbs.json`;
  if ((await store.size(path)) === null) return {};
  const value = parseJson(await store.readText(path), path);
  const entries = isRecord(value) ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, Thumb] => entry[1] === 1 || entry[1] === -1));
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
    const { [rollout]: _, ...others } = await readThumbs(store, id);
    const thumbs: Thumbs = thumb === null ? others : { ...others, [rollout]: thumb };
    await writeThumbs(store, id, thumbs);
    return thumbs;
  });
}

/** Removes the thumbs of later steps. @throws LabError("bad-input") when the file was not written by the lab */
export async function truncateThumbs(store: RunStore, id: string, step: number): Promise<void> {
  const thumbs = Object.entries(await readThumbs(store, id));
  const kept = thumbs.filter(([rollout]) => Number.parseInt(rollout, 10) <= step);
  if (kept.length < thumbs.length) await writeThumbs(store, id, Object.fromEntries(kept));
}

async function writeThumbs(store: RunStore, id: string, thumbs: Thumbs): Promise<void> {
  await store.write(`${id}/thumbs.json`, `${JSON.stringify(thumbs, null, 2)}\n`);
}
