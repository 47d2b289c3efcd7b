/** What the judge needs of the reward worker: network, time, its cache, the key in memory, models inside the browser. */
import { LabError } from "../src/engine/errors.ts";
import type { ReplyCache } from "../src/engine/rewards/judge/cache.ts";
import { timerClock } from "../src/engine/rewards/judge/clock.ts";
import { JudgeFailure } from "../src/engine/rewards/judge/providers/failure.ts";
import type { JudgeProvider } from "../src/engine/rewards/judge/providers/provider.ts";
import type { JudgeHost } from "../src/engine/rewards/judge/setup.ts";
import { judgeJitter } from "../src/engine/rl/run/judge-jitter.ts";
import { clearJudgeCache, judgeCache } from "../src/engine/runs/judge-cache.ts";
import { openOpfsStore } from "../src/engine/storage/opfs-store.ts";
import type { FromJudge } from "../src/protocol/judge.ts";
import { tabModels } from "./webllm-line.ts";
import { wireError } from "./wire.ts";

export interface WorkerJudgeHost extends JudgeHost {
  /** The page's line, over which its model is asked and progress is told. */
  connectPage(send: (message: FromJudge) => void): void;
  /** Takes the key of one origin in place of the one before. */
  setKey(key: string, origin: string): void;
  /** Answer of the page's model. */
  pageReply(id: number, text: string | null, problem: string): void;
  forget(): Promise<void>;
}

interface Waiting {
  readonly resolve: (text: string) => void;
  readonly reject: (failure: JudgeFailure) => void;
}

/** @param allows whether the person agreed to the judge at a place */
export function workerJudgeHost(allows: (place: string) => boolean): WorkerJudgeHost {
  let held = { key: "", origin: "" };
  let toPage: ((message: FromJudge) => void) | null = null;
  const send = (message: FromJudge): void => toPage?.(message);
  let cache: Promise<ReplyCache> | null = null;
  const waiting = new Map<number, Waiting>();
  let next = 1;

  const openCache = async (): Promise<ReplyCache> => {
    const store = await openOpfsStore();
    return judgeCache(store, (thrown) => {
      const { message } = wireError(thrown);
      const error = new LabError("storage", `The judge's replies are kept in memory only: ${message}`);
      send({ type: "failed", request: null, error: wireError(error) });
    });
  };

  /** The browser's own model, asked through the page: workers do not have it. */
  const chrome: JudgeProvider = {
    kind: "chrome",
    model: "chrome-built-in",
    place: "in this browser",
    async complete(request, signal, onCall) {
      onCall();
      const id = next++;
      const cancel = (): void => send({ type: "page-cancel", id });
      signal.addEventListener("abort", cancel);
      try {
        const text = await new Promise<string>((resolve, reject) => {
          waiting.set(id, { resolve, reject });
          send({ type: "page-prompt", id, request });
        });
        return { text, promptTokens: null, completionTokens: null, cut: false };
      } finally {
        signal.removeEventListener("abort", cancel);
        waiting.delete(id);
      }
    },
  };

  return {
    key: (origin) => (origin === held.origin ? held.key : ""),
    allows,
    // Bound: a worker's fetch refuses to be called as a method of another object.
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
    inPage: async (kind, model) => (kind === "chrome" ? chrome : tabModels(model, send)),
    connectPage: (line) => {
      toPage = line;
    },
    setKey: (key, origin) => {
      held = { key, origin };
    },
    pageReply: (id, text, problem) => {
      const own = waiting.get(id);
      if (text !== null) own?.resolve(text);
      else own?.reject(new JudgeFailure("unavailable", problem));
    },
    forget: async () => {
      await clearJudgeCache(await openOpfsStore());
      cache = null;
    },
  };
}
