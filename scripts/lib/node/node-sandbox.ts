/** Custom rewards under Node: a thread with an interpreter, opened at the first call. */
import { Worker } from "node:worker_threads";
import { type Consent, consentedRewards } from "../../../src/engine/rewards/consent.ts";
import { type SandboxLink, type UserRewards, userRewards } from "../../../src/engine/rewards/user/watched.ts";

export interface NodeUserRewards extends UserRewards {
  /** Ends the thread, if one is open. */
  close(): void;
}

/** @param consent which of them may run */
export function nodeUserRewards(consent: Consent): NodeUserRewards {
  let worker: Worker | null = null;
  const open = (): SandboxLink => {
    const own = new Worker(new URL("./sandbox-thread.mjs", import.meta.url), { execArgv: [], env: {} });
    // A finished tool must not wait for an idle sandbox.
    own.unref();
    worker = own;
    return {
      send: (request) => own.postMessage(request),
      listen(reply, failed) {
        own.removeAllListeners();
        own.on("message", reply);
        own.on("error", (error) => failed(error.message));
      },
      end: () => void own.terminate(),
    };
  };
  const watch = {
    set(callback: () => void, milliseconds: number) {
      const timer = setTimeout(callback, milliseconds);
      return () => clearTimeout(timer);
    },
  };
  return { ...consentedRewards(userRewards(open, watch), consent), close: () => void worker?.terminate() };
}
