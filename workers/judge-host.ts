/** Services of the reward worker for the judge: network, time, cache, the key in memory. */
import { LabError } from "../src/engine/errors.ts";
import type { ReplyCache } from "../src/engine/rewards/judge/cache.ts";
import { timerClock } from "../src/engine/rewards/judge/providers/caller.ts";
import type { JudgeHost } from "../src/engine/rewards/judge/setup.ts";
import { judgeJitter } from "../src/engine/rl/run/run-judge.ts";
import { clearJudgeCache, judgeCache } from "../src/engine/runs/judge-cache.ts";
import { openOpfsStore } from "../src/engine/storage/opfs-store.ts";
import type { RewardHost } from "../src/protocol/reward.ts";
import { type Connection, toWire } from "../src/protocol/rpc.ts";

export interface WorkerJudgeHost extends JudgeHost {
  /** Replaces the key of one origin. */
  setKey(key: string, origin: string): void;
  forget(): Promise<void>;
}

/**
 * @param allows whether the user agreed to the judge at a place
 * @param page shows problems
 */
export function workerJudgeHost(allows: (place: string) => boolean, page: Connection<RewardHost>): WorkerJudgeHost {
  let held = { key: "", origin: "" };
  let cache: Promise<ReplyCache> | null = null;

  const openCache = async (): Promise<ReplyCache> => {
    const store = await openOpfsStore();
    return judgeCache(store, (thrown) => {
      const { message } = toWire(thrown);
      page.tell.problem(toWire(new LabError("storage", `The judge's replies are kept in memory only: ${message}`)));
    });
  };

  return {
    key: (origin) => (origin === held.origin ? held.key : ""),
    allows,
    // Bound, because a worker's fetch cannot be called as a method of another object.
    fetch: (...request) => fetch(...request),
    clock: timerClock(() => Date.now()),
    jitter: judgeJitter(0),
    cache: async () => {
      cache ??= openCache();
      try {
        return await cache;
      } catch (thrown) {
        cache = null;
        throw thrown;
      }
    },
    setKey: (key, origin) => {
      held = { key, origin };
    },
    forget: async () => {
      await clearJudgeCache(await openOpfsStore());
      cache = null;
    },
  };
}
