/** Judge requests under limits: concurrency, timeout, retries, budget. */

import { LabError } from "../../../errors.ts";
import type { Budget } from "../budget.ts";
import type { ChatReply, ChatRequest, JudgeProvider } from "./provider.ts";
import { JudgeFailure } from "./provider.ts";

/** Clock of a judge, which tests replace. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after that many milliseconds, or as soon as the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

/** A clock on real timers. @param now milliseconds since the epoch */
export function timerClock(now: () => number): Clock {
  return {
    now,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const end = (): void => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          resolve();
        };
        const timer = setTimeout(end, milliseconds);
        signal.addEventListener("abort", end);
      }),
  };
}

/** Limits concurrent work; calls beyond the limit wait in a queue. */
interface Slots {
  /** Runs the work in a free slot. */
  run<T>(work: () => Promise<T>): Promise<T>;
}

/** @param places maximum concurrent calls, at least 1 */
export function slots(places: number): Slots {
  let free = places;
  const line: (() => void)[] = [];
  return {
    async run(work) {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => line.push(resolve));
      try {
        return await work();
      } finally {
        // The slot goes straight to the next in the queue, so that no new call can take it.
        const next = line.shift();
        if (next === undefined) free++;
        else next();
      }
    },
  };
}

export interface CallerSettings {
  /** Maximum milliseconds per call. */
  readonly timeout: number;
  /** Repeats after a temporary failure. */
  readonly retries: number;
}

export interface CallerDeps {
  readonly provider: JudgeProvider;
  readonly budget: Budget;
  readonly slots: Slots;
  readonly clock: Clock;
  /** Uniform in (0, 1) for a call and its repeat, the same in every run. */
  readonly jitter: (call: number, repeat: number) => number;
}

/** Totals of the calls for one verdict. */
export interface Spent {
  calls: number;
  /** Milliseconds of the calls themselves, without waiting. */
  latency: number;
  cost: number;
}

export type Ask = (request: ChatRequest, spent: Spent, signal: AbortSignal) => Promise<ChatReply>;

/** First wait before a repeat, doubled each time. */
const FIRST_WAIT = 500;
const LONGEST_WAIT = 30_000;
/** Longest Retry-After that is respected; beyond it the call fails. */
const LONGEST_RETRY_AFTER = 120_000;
/** A call that times out is repeated only once: more repeats would delay a step for minutes. */
const TIMEOUT_REPEATS = 1;

/**
 * A function that calls the provider within the limits.
 * @throws JudgeFailure of the last attempt, LabError("cancelled") when the signal aborts
 */
export function caller(settings: CallerSettings, deps: CallerDeps): Ask {
  const { clock, jitter } = deps;
  let calls = 0;
  /** No call starts before this time, because a server's Retry-After applies to all calls. */
  let notBefore = 0;
  return (request, spent, signal) =>
    deps.slots.run(async () => {
      const call = calls++;
      for (let repeat = 0; ; repeat++) {
        await pause(clock, notBefore - clock.now(), signal);
        try {
          return await attempt(request, spent, signal);
        } catch (thrown) {
          if (!(thrown instanceof JudgeFailure) || !thrown.passing || repeat >= settings.retries) throw thrown;
          if (thrown.kind === "timeout" && repeat >= TIMEOUT_REPEATS) throw thrown;
          const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** repeat) * (0.5 + 0.5 * jitter(call, repeat));
          if (thrown.retryAfter === null) await pause(clock, wait, signal);
          else if (thrown.retryAfter > LONGEST_RETRY_AFTER) throw thrown;
          else notBefore = Math.max(notBefore, clock.now() + thrown.retryAfter + wait / 10);
        }
      }
    });

  async function attempt(request: ChatRequest, spent: Spent, signal: AbortSignal): Promise<ChatReply> {
    stopIfAborted(signal);
    const limit = new AbortController();
    const done = new AbortController();
    const stop = (): void => limit.abort();
    signal.addEventListener("abort", stop);
    let late = false;
    const timer = clock.sleep(settings.timeout, done.signal).then(() => {
      if (done.signal.aborted) return;
      late = true;
      limit.abort();
    });
    let reservation: ReturnType<Budget["reserve"]> | undefined;
    const began = clock.now();
    try {
      const onCall = (): void => {
        // An abandoned call is already settled, so its later requests would not be counted.
        limit.signal.throwIfAborted();
        spent.cost += reservation?.fail() ?? 0;
        reservation = deps.budget.reserve(request);
        spent.calls++;
      };
      // A provider may ignore its signal, or resolve with a partial reply when aborted; so the limit is checked first
      // and wins.
      const reply = await Promise.race([
        untilAborted(limit.signal),
        deps.provider.complete(request, limit.signal, onCall),
      ]);
      spent.cost += reservation?.settle(reply) ?? 0;
      return reply;
    } catch (thrown) {
      spent.cost += reservation?.fail() ?? 0;
      stopIfAborted(signal);
      if (late) {
        const seconds = settings.timeout / 1000;
        throw new JudgeFailure("timeout", `The judge did not answer within ${seconds} s`, { cause: thrown });
      }
      throw thrown;
    } finally {
      spent.latency += clock.now() - began;
      signal.removeEventListener("abort", stop);
      done.abort();
      await timer;
    }
  }
}

/** Rejects when the signal aborts, before later listeners run. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason));
  });
}

async function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds > 0) await clock.sleep(milliseconds, signal);
  stopIfAborted(signal);
}

function stopIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new LabError("cancelled", "The judge requests were stopped");
}

/**
 * Waits until every call has ended, even if one fails, because all calls are charged to the same account.
 * @throws the first failure in order
 */
export async function together<Value>(calls: readonly Promise<Value>[]): Promise<Value[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}
