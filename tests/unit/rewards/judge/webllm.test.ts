/** Models in a tab: another model takes the place of the one before, and nobody waits for a worker that is gone. */
import { afterEach, expect, test, vi } from "vitest";
import { budget } from "../../../../src/engine/rewards/judge/budget.ts";
import { caller } from "../../../../src/engine/rewards/judge/providers/caller.ts";
import { chatReply } from "../../../../src/engine/rewards/judge/providers/chat-answer.ts";
import type { ChatRequest, JudgeProvider } from "../../../../src/engine/rewards/judge/providers/provider.ts";
import { WEBLLM_DEFAULT, webllmModel } from "../../../../src/engine/rewards/judge/providers/webllm-model.ts";
import { slots } from "../../../../src/engine/rewards/judge/slots.ts";
import { connect, type Handlers } from "../../../../src/protocol/rpc.ts";
import { type ModelWorker, modelsIn } from "../../../../workers/tab-models.ts";
import type { WebllmCalls } from "../../../../workers/webllm.ts";
import { fastClock } from "../../../support/judge.ts";

const REQUEST: ChatRequest = { messages: [{ role: "user", content: "?" }], schema: null, maxTokens: 10 };
const never = new AbortController().signal;

/** What a worker does; null never answers. */
interface Script {
  readonly load: (() => void) | null;
  readonly complete: Handlers<WebllmCalls>["complete"] | null;
}

/** A worker that serves the calls over a real channel; it holds no model. */
class ScriptedWorker implements ModelWorker {
  onerror: ModelWorker["onerror"] = null;
  readonly seen: string[] = [];
  ended = false;
  readonly #channel = new MessageChannel();

  constructor(script: Script) {
    const { port1, port2 } = this.#channel;
    port1.start();
    connect<unknown, WebllmCalls>(port2, {
      load: async () => {
        await (script.load === null ? forever() : script.load());
      },
      complete: (request, signal) => {
        this.seen.push("complete");
        return script.complete === null ? forever() : script.complete(request, signal);
      },
    });
  }

  addEventListener(type: "message", listener: (event: MessageEvent) => void): void {
    this.#channel.port1.addEventListener(type, listener);
  }

  postMessage(message: unknown): void {
    if (!this.ended) this.#channel.port1.postMessage(message);
  }

  terminate(): void {
    this.ended = true;
    this.#channel.port1.close();
  }
}

const forever = (): Promise<never> => new Promise(() => undefined);
const workers: ScriptedWorker[] = [];
afterEach(() => {
  for (const worker of workers.splice(0)) worker.terminate();
});

/** Models whose workers do as the script says. */
const models = (script: Script) =>
  modelsIn(() => {
    const worker = new ScriptedWorker(script);
    workers.push(worker);
    return worker;
  });

const REPLY = { text: "A", promptTokens: 1, completionTokens: 1, cut: null, limit: 10 };
const loads = (): void => undefined;
const answering: Script = { load: loads, complete: () => REPLY };
const silent: Script = { load: loads, complete: null };
const ask = (provider: JudgeProvider) => provider.complete(REQUEST, never, () => undefined);

test("one model is loaded once, whatever asks for it", async () => {
  const open = models(answering);
  const [first, again] = await Promise.all([open("", () => undefined), open(` ${WEBLLM_DEFAULT} `, () => undefined)]);
  expect(again).toBe(first);
  expect(workers).toHaveLength(1);
  expect(await ask(first)).toMatchObject({ text: "A" });
  expect(webllmModel("  ")).toBe(WEBLLM_DEFAULT);
});

test("calls in progress when another model is loaded end, and later ones are refused", async () => {
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
  let script: Script = { load: null, complete: null };
  const open = modelsIn(() => {
    const worker = new ScriptedWorker(script);
    workers.push(worker);
    return worker;
  });
  const first = open("one", () => undefined);
  script = silent;
  const second = open("two", () => undefined);
  await expect(first).rejects.toMatchObject({ kind: "unavailable" });
  // The failure of the first must not put the second aside.
  expect(workers[1]?.ended).toBe(false);
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
  await vi.waitFor(() => expect(workers[0]?.seen).toEqual(["complete"]));
  await open("two", () => undefined);
  await work;
  expect(spent.calls).toBe(1);
});

test("a model whose worker cannot start is tried again at the next call", async () => {
  let working = false;
  const open = models({
    load: () => {
      if (!working) throw new Error("no network");
    },
    complete: null,
  });
  await expect(open("one", () => undefined)).rejects.toThrow("The model one cannot be used in this tab: no network");
  working = true;
  expect((await open("one", () => undefined)).model).toBe("one");
  expect(workers).toHaveLength(2);
});

test("a failed call is the server's failure, a worker that throws takes the calls in progress with it", async () => {
  const broken = await models({ load: loads, complete: () => Promise.reject(new Error("out of memory")) })(
    "one",
    loads,
  );
  await expect(ask(broken)).rejects.toMatchObject({
    kind: "server",
    message: "The model in this tab failed: out of memory",
  });
  const lost = ask(await models(silent)("two", loads));
  const refused = expect(lost).rejects.toMatchObject({
    kind: "unavailable",
    message: "The model two cannot be used in this tab: its script could not be loaded",
  });
  await vi.waitFor(() => expect(workers[1]?.seen).toEqual(["complete"]));
  workers[1]?.onerror?.call(null as never, Object.assign(new Event("error"), { message: "" }) as ErrorEvent);
  await refused;
});

test.each([
  ["stop", "A", null],
  ["length", "A", "limit"],
  ["content_filter", "A", "filter"],
  [undefined, "A", null],
])("an answer that ended by %s is a reply", (reason, content, cut) => {
  const answer = { choices: [{ finish_reason: reason, message: { content } }], usage: { prompt_tokens: 3 } };
  const expected = { text: content, promptTokens: 3, completionTokens: null, cut, limit: 10 };
  expect(chatReply(answer, "", REQUEST, 10)).toEqual(expected);
});

test("an answer that was interrupted is none", () => {
  const answer = { choices: [{ finish_reason: "abort", message: { content: "A. The des" } }] };
  expect(() => chatReply(answer, "A. The des", REQUEST, 10)).toThrow("interrupted before its reply was complete");
});

test("an answer in parts is its text, without reasoning that a service puts apart", () => {
  const thinking = { type: "thinking", thinking: [{ type: "text", text: "B fits as well." }] };
  const answer = (...content: unknown[]) => ({ choices: [{ finish_reason: "stop", message: { content } }] });
  expect(
    chatReply(answer(thinking, { type: "text", text: "A" }, { type: "text", text: "." }), "", REQUEST, 10).text,
  ).toBe("A.");
  expect(() => chatReply(answer(thinking), "", REQUEST, 10)).toThrow("The judge's answer contains no reply");
});
