/** Models in a tab: another model takes the place of the one before, and nobody waits for a worker that is gone. */
import { afterEach, expect, test, vi } from "vitest";
import { budget } from "../../../../src/engine/rewards/judge/budget.ts";
import { caller } from "../../../../src/engine/rewards/judge/providers/caller.ts";
import { chatReply } from "../../../../src/engine/rewards/judge/providers/chat-answer.ts";
import type { ChatRequest, JudgeProvider } from "../../../../src/engine/rewards/judge/providers/provider.ts";
import { WEBLLM_DEFAULT, webllmModel } from "../../../../src/engine/rewards/judge/providers/webllm-model.ts";
import { slots } from "../../../../src/engine/rewards/judge/slots.ts";
import type { FromWebllm, ToWebllm } from "../../../../workers/webllm.ts";
import { type ModelWorker, webllmModels } from "../../../../workers/webllm-line.ts";
import { fastClock } from "../../../support/judge.ts";

const REQUEST: ChatRequest = { messages: [{ role: "user", content: "?" }], schema: null, maxTokens: 10 };
const never = new AbortController().signal;

/** A worker that speaks the line's language over a real channel; it holds no model. */
class ScriptedWorker implements ModelWorker {
  onmessage: ModelWorker["onmessage"] = null;
  onerror: ModelWorker["onerror"] = null;
  readonly seen: ToWebllm[] = [];
  ended = false;
  readonly #channel = new MessageChannel();

  constructor(answer: (message: ToWebllm) => FromWebllm | null) {
    const { port1, port2 } = this.#channel;
    port1.onmessage = (event) => this.onmessage?.call(this as unknown as Worker, event as MessageEvent);
    port2.onmessage = ({ data }: MessageEvent<ToWebllm>) => {
      this.seen.push(data);
      const reply = answer(data);
      if (reply !== null) port2.postMessage(reply);
    };
  }

  postMessage(message: unknown): void {
    if (!this.ended) this.#channel.port1.postMessage(message);
  }

  terminate(): void {
    this.ended = true;
    this.#channel.port1.close();
  }
}

const workers: ScriptedWorker[] = [];
afterEach(() => {
  for (const worker of workers.splice(0)) worker.terminate();
});

/** Models whose workers load at once and answer as told. */
function models(answer: (message: ToWebllm) => FromWebllm | null) {
  return webllmModels(() => {
    const worker = new ScriptedWorker((message) => (message.type === "load" ? { type: "loaded" } : answer(message)));
    workers.push(worker);
    return worker;
  });
}

const reply = (id: number): FromWebllm => ({
  type: "reply",
  id,
  reply: { text: "A", promptTokens: 1, completionTokens: 1, cut: false },
});
const answering = (message: ToWebllm): FromWebllm | null => (message.type === "complete" ? reply(message.id) : null);
const silent = (): null => null;
const ask = (provider: JudgeProvider) => provider.complete(REQUEST, never, () => undefined);

test("one model is loaded once, whatever asks for it", async () => {
  const open = models(answering);
  const [first, again] = await Promise.all([open("", () => undefined), open(` ${WEBLLM_DEFAULT} `, () => undefined)]);
  expect(again).toBe(first);
  expect(workers).toHaveLength(1);
  expect(await ask(first)).toMatchObject({ text: "A" });
  expect(webllmModel("  ")).toBe(WEBLLM_DEFAULT);
});

test("calls under way when another model is loaded end, and later ones are refused", async () => {
  const open = models(silent);
  const first = await open("one", () => undefined);
  const failure = {
    kind: "unavailable",
    message: "The model one cannot be used in this tab: two was loaded in its place",
  };
  const work = expect(ask(first)).rejects.toMatchObject(failure);
  const second = await open("two", () => undefined);
  await work;
  await expect(ask(first)).rejects.toMatchObject(failure);
  expect(workers.map(({ ended }) => ended)).toEqual([true, false]);
  expect(second.model).toBe("two");
});

test("who waits for a model that never came to be loaded is told too", async () => {
  const open = webllmModels(() => {
    const worker = new ScriptedWorker(silent);
    workers.push(worker);
    return worker;
  });
  const first = open("one", () => undefined);
  const second = open("two", () => undefined);
  await expect(first).rejects.toMatchObject({ kind: "unavailable" });
  // The failure of the first must not put the second aside.
  expect(workers[1]?.ended).toBe(false);
  workers[1]?.onmessage?.call(null as never, new MessageEvent("message", { data: { type: "loaded" } }));
  expect((await second).model).toBe("two");
});

test("a step whose model is taken away gets a failure, not a wait without end", async () => {
  const open = models(silent);
  const provider = await open("one", () => undefined);
  const deps = {
    provider,
    budget: budget({ calls: 0, cost: 0, promptPrice: 0, completionPrice: 0 }),
    slots: slots(1),
    clock: fastClock(),
    jitter: () => 0.5,
  };
  const spent = { calls: 0, latency: 0, cost: 0 };
  const ask = caller({ timeout: 600_000, retries: 3 }, deps);
  const work = expect(ask(REQUEST, spent, never)).rejects.toMatchObject({ kind: "unavailable" });
  await vi.waitFor(() => expect(workers[0]?.seen.some(({ type }) => type === "complete")).toBe(true));
  await open("two", () => undefined);
  await work;
  expect(spent.calls).toBe(1);
});

test("a model whose worker cannot start is tried again at the next call", async () => {
  let working = false;
  const open = webllmModels(() => {
    const worker = new ScriptedWorker(() =>
      working ? { type: "loaded" } : { type: "failed", id: null, message: "no network" },
    );
    workers.push(worker);
    return worker;
  });
  await expect(open("one", () => undefined)).rejects.toThrow("The model one cannot be used in this tab: no network");
  working = true;
  expect((await open("one", () => undefined)).model).toBe("one");
  expect(workers).toHaveLength(2);
});

test.each([
  ["stop", "A", false],
  ["length", "A", true],
  ["content_filter", "A", true],
  [undefined, "A", false],
])("an answer that ended by %s is a reply", (reason, content, cut) => {
  const answer = { choices: [{ finish_reason: reason, message: { content } }], usage: { prompt_tokens: 3 } };
  expect(chatReply(answer, "")).toEqual({ text: content, promptTokens: 3, completionTokens: null, cut });
});

test("an answer that was interrupted is none", () => {
  const answer = { choices: [{ finish_reason: "abort", message: { content: "A. The des" } }] };
  expect(() => chatReply(answer, "A. The des")).toThrow("interrupted before its reply was whole");
});
