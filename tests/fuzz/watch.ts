/**
 * Readers in a thread that can be stopped: using more than five seconds of processor time or a gigabyte is a fault.
 * Wall time does not count, so a busy machine changes no verdict; only a reader that is idle for minutes is given up.
 */
import { Worker } from "node:worker_threads";
import type { Order, Verdict } from "./thread-run.ts";

const CPU_SECONDS = 5;
const BYTES = 2 ** 30;
/** Time without answer and without work after which a promise counts as never settled. */
const IDLE_SECONDS = 300;
const POLL = 20;

export interface Watched {
  /** The verdict on one input; one at a time. */
  judge(order: Order): Promise<Verdict>;
  close(): Promise<void>;
}

const cpuSeconds = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const peak = (): number => process.resourceUsage().maxRSS * 1024;

/** Starts the thread at the first input, and a new one after each that had to be stopped. */
export function watched(): Watched {
  let worker: Worker | null = null;
  const open = async (): Promise<Worker> => {
    const own = new Worker(new URL("./thread.mjs", import.meta.url), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: BYTES / 2 ** 20 },
    });
    own.unref();
    return own;
  };
  const end = async (): Promise<void> => {
    const own = worker;
    worker = null;
    await own?.terminate();
  };
  return {
    close: end,
    async judge(order) {
      worker ??= await open();
      const own = worker;
      // A thread that waits for a processor is not idle.
      const idle = (): number => own.performance.eventLoopUtilization().idle / 1000;
      // An input is copied twice on its way to the thread.
      const most = BYTES + 2 * Object.values(order.files).reduce((sum, file) => sum + file.length, 0);
      const [cpu, memory, before, start] = [cpuSeconds(), process.memoryUsage.rss(), peak(), idle()];
      const verdict = await new Promise<Verdict>((resolve) => {
        const poll = setInterval(() => {
          const used = cpuSeconds() - cpu;
          const held = process.memoryUsage.rss() - memory;
          if (used > CPU_SECONDS) done({ kind: "hang", said: `more than ${CPU_SECONDS} s of processor time` });
          else if (held > most) done({ kind: "memory", said: `${(held / 2 ** 20).toFixed(0)} MiB more than before` });
          else if (idle() - start > IDLE_SECONDS) done({ kind: "hang", said: "no answer" });
        }, POLL);
        const done = (found: Verdict): void => {
          clearInterval(poll);
          own.off("message", done).off("error", failed);
          resolve(found);
        };
        const failed = (error: Error & { code?: string }): void => {
          const full = error.code === "ERR_WORKER_OUT_OF_MEMORY";
          worker = null;
          done({ kind: full ? "memory" : "raw error", said: String(error.stack ?? error).slice(0, 1500) });
        };
        own.on("message", done).on("error", failed);
        own.postMessage(order);
      });
      // Between two checks a reader may have allocated too much and released it.
      const grown = peak() - Math.max(before, memory);
      const late = verdict.kind === "accepted" || verdict.kind === "refused";
      if (late && grown > most) return { kind: "memory", said: `${(grown / 2 ** 20).toFixed(0)} MiB at its peak` };
      if (!late && (verdict.kind === "hang" || verdict.kind === "memory")) await end();
      return verdict;
    },
  };
}
