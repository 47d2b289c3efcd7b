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
    await store.write(path, `${JSON.stringify(thumbs, null, 2)}\n`);
    return thumbs;
  });
}
