/** Calls of providers that do not listen: none of them can hold a step, and none of their late replies counts. */
import { expect, test, vi } from "vitest";
import { type Budget, budget } from "../../../../src/engine/rewards/judge/budget.ts";
import { type Ask, caller, type Spent, slots } from "../../../../src/engine/rewards/judge/providers/caller.ts";
import type { ChatReply, ChatRequest, JudgeProvider } from "../../../../src/engine/rewards/judge/providers/provider.ts";
import { fastClock } from "../../../support/judge.ts";

const REQUEST: ChatRequest = { messages: [{ role: "user", content: "?" }], schema: null, maxTokens: 10 };
const REPLY: ChatReply = { text: "A", promptTokens: 10, completionTokens: 1, cut: null, limit: 10 };

interface Asking {
  readonly ask: Ask;
  readonly spent: Spent;
  readonly budget: Budget;
}

function asking(complete: JudgeProvider["complete"]): Asking {
  const own = budget({ calls: 0, cost: 0, promptPrice: 1e5, completionPrice: 1e5 });
  const provider: JudgeProvider = { model: "deaf", place: "here", complete };
  const deps = { provider, budget: own, slots: slots(1), clock: fastClock(), jitter: () => 0.5 };
  return { ask: caller({ timeout: 1000, retries: 3 }, deps), spent: { calls: 0, latency: 0, cost: 0 }, budget: own };
}

/** Never settles, whatever its signal says. */
const deaf: JudgeProvider["complete"] = (_request, _signal, onCall) => {
  onCall();
  return new Promise(() => undefined);
};

test("a provider that never answers is a timeout, repeated once, and its place is free again", async () => {
  const { ask, spent } = asking(deaf);
  const { signal } = new AbortController();
  await expect(ask(REQUEST, spent, signal)).rejects.toMatchObject({ kind: "timeout" });
  expect(spent.calls).toBe(2);
  await expect(ask(REQUEST, spent, signal)).rejects.toMatchObject({ kind: "timeout" });
});

test("stopping ends a call of a provider that never answers", async () => {
  const { ask, spent } = asking(deaf);
  const stop = new AbortController();
  const work = ask(REQUEST, spent, stop.signal);
  await vi.waitFor(() => expect(spent.calls).toBe(1));
  stop.abort();
  await expect(work).rejects.toMatchObject({ code: "cancelled" });
});

test("what an interrupted model had written so far is no reply", async () => {
  // The interruption settles the call with the words up to then.
  const { ask, spent, budget } = asking(
    (_request, signal, onCall) =>
      new Promise((resolve) => {
        onCall();
        signal.addEventListener("abort", () => resolve({ ...REPLY, text: "A. The descrip" }));
      }),
  );
  await expect(ask(REQUEST, spent, new AbortController().signal)).rejects.toMatchObject({ kind: "timeout" });
  const stop = new AbortController();
  const work = ask(REQUEST, spent, stop.signal);
  await vi.waitFor(() => expect(spent.calls).toBe(3));
  stop.abort();
  await expect(work).rejects.toMatchObject({ code: "cancelled" });
  expect(spent.calls).toBe(3);
  expect(spent.cost).toBeCloseTo(budget.cost, 12);
});

test("a call that was given up can send nothing more", async () => {
  let again: (() => void) | undefined;
  const { ask, spent, budget } = asking((_request, _signal, onCall) => {
    onCall();
    again ??= onCall;
    return new Promise(() => undefined);
  });
  await expect(ask(REQUEST, spent, new AbortController().signal)).rejects.toMatchObject({ kind: "timeout" });
  const before = [spent.calls, budget.calls, budget.cost];
  expect(again).toThrow();
  expect([spent.calls, budget.calls, budget.cost]).toEqual(before);
});

test("a provider that fails after it was given up fails unheard", async () => {
  const { ask, spent } = asking(
    (_request, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => setTimeout(() => reject(new Error("much later")), 1));
      }),
  );
  await expect(ask(REQUEST, spent, new AbortController().signal)).rejects.toMatchObject({ kind: "timeout" });
  // An unhandled rejection would fail this file.
  await new Promise((resolve) => setTimeout(resolve, 10));
});
