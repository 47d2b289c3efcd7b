/** The judge's replies beside the runs, for all of them: a second run asks nothing that the first has asked. */
import { openCache, type ReplyCache } from "../rewards/judge/cache.ts";
import type { RunStore } from "../storage/store.ts";

/** No run can have this name, and lists of runs leave it out. */
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

/** Forgets all replies. */
export async function clearJudgeCache(store: RunStore): Promise<void> {
  await store.remove(PATH);
}
