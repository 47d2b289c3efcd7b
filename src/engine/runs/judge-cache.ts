/**
 * The judge's replies, stored next to the runs and shared by all, so that a second run does not repeat requests of the
 * first.
 */
import { openCache, type ReplyCache } from "../rewards/judge/cache.ts";
import type { RunStore } from "../storage/store.ts";

/** Not a valid run name, so that lists of runs skip it. */
const PATH = ".judge/replies.jsonl";

/** @param onFailure called once when replies cannot be written; they are then kept only in memory */
export async function judgeCache(store: RunStore, onFailure: (thrown: unknown) => void): Promise<ReplyCache> {
  return openCache(
    {
      read: async () => ((await store.size(PATH)) === null ? "" : store.readText(PATH)),
      append: (line) => store.append(PATH, line),
    },
    onFailure,
  );
}

/** Deletes all replies. */
export async function clearJudgeCache(store: RunStore): Promise<void> {
  await store.remove(PATH);
}
