/** Services of the reward worker for the judge: network, time, cache, the key in memory, models inside the browser. */
import { LabError } from "../src/engine/errors.ts";
import type { ReplyCache } from "../src/engine/rewards/judge/cache.ts";
import { timerClock } from "../src/engine/rewards/judge/clock.ts";
import { JudgeFailure } from "../src/engine/rewards/judge/providers/failure.ts";
import type { JudgeProvider } from "../src/engine/rewards/judge/providers/provider.ts";
import type { JudgeHost } from "../src/engine/rewards/judge/setup.ts";
import { judgeJitter } from "../src/engine/rl/run/judge-jitter.ts";
import { clearJudgeCache, judgeCache } from "../src/engine/runs/judge-cache.ts";
import { openOpfsStore } from "../src/engine/storage/opfs-store.ts";
import type { RewardHost } from "../src/protocol/reward.ts";
import { type Connection, toWire } from "../src/protocol/rpc.ts";
import { tabModels } from "./tab-models.ts";

export interface WorkerJudgeHost extends JudgeHost {
  /** Replaces the key of one origin. */
  setKey(key: string, origin: string): void;
  forget(): Promise<void>;
}

/**
 * @param allows whether the user agreed to the judge at a place
 * @param page calls the browser's built-in model, and shows progress and problems
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

  /** The browser's built-in model, called through the page because workers have no access to it. */
  const chrome: JudgeProvider = {
    kind: "chrome",
    model: "chrome-built-in",
    place: "in this browser",
    async complete(request, signal, onCall) {
      onCall();
      const text = await page.call.askBrowserModel(request, signal).catch((thrown: unknown) => {
        throw new JudgeFailure("unavailable", toWire(thrown).message);
      });
      return { text, promptTokens: null, completionTokens: null, cut: null, limit: request.maxTokens };
    },
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
    inPage: async (kind, model) => (kind === "chrome" ? chrome : tabModels(model, page.tell.judgeProgress)),
    setKey: (key, origin) => {
      held = { key, origin };
    },
    forget: async () => {
      await clearJudgeCache(await openOpfsStore());
      cache = null;
    },
  };
}
