/** Calls over a real channel, both ways. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import { type Calls, type CallsOf, connect, type Handlers, Moved } from "../../../src/protocol/rpc.ts";

interface WorkerCalls {
  add(a: number, b: number): Promise<number>;
  fail(how: "typed" | "foreign"): Promise<void>;
  count(to: number, onCount: (done: number, total: number) => void): Promise<string>;
  wait(name: string, signal?: AbortSignal): Promise<void>;
  buffer(size: number): Promise<ArrayBuffer>;
  over(port: MessagePort): Promise<number>;
  note(text: string): void;
}

interface PageCalls {
  ask(question: string): Promise<string>;
  heard(text: string): void;
}

const ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

function channel(): MessageChannel {
  const made = new MessageChannel();
  ports.push(made.port1, made.port2);
  return made;
}

const adding: Pick<Handlers<WorkerCalls>, "add"> = { add: (a, b) => a + b };

/** A page and a worker over one channel. */
function pair(page: Handlers<PageCalls> = { ask: async (question) => `${question}!`, heard: () => undefined }) {
  const { port1, port2 } = channel();
  let made = new ArrayBuffer(0);
  const worker = connect<PageCalls, WorkerCalls>(port2, {
    ...adding,
    fail(how) {
      if (how === "typed") throw badInput("Row 3 has no mask", "row 3");
      throw new TypeError("x is not a function");
    },
    async count(to, onCount) {
      for (let done = 1; done <= to; done++) onCount(done, to);
      setTimeout(() => onCount(-1, to), 0);
      return "counted";
    },
    wait: (name, signal) =>
      new Promise((_, reject) => {
        const end = (): void => reject(new LabError("cancelled", `${name} was stopped`));
        if (signal?.aborted) end();
        signal?.addEventListener("abort", end);
      }),
    buffer(size) {
      made = new ArrayBuffer(size);
      return new Moved(made, made);
    },
    over: (port) => connect<Pick<WorkerCalls, "add">>(port, {}).call.add(20, 3),
    note: (text) => worker.tell.heard(`noted ${text}`),
  });
  return { worker, page: connect<WorkerCalls, PageCalls>(port1, page), left: () => made };
}

describe("a call", () => {
  it("is answered, whatever the order", async () => {
    const { call } = pair().page;
    expect(await Promise.all([call.add(1, 2), call.add(10, 20)])).toEqual([3, 30]);
  });

  it("has the type of what is served", async () => {
    const { port1, port2 } = channel();
    const notes: string[] = [];
    const served = (own: MessagePort) => ({
      async buffer(size: number) {
        const made = new ArrayBuffer(size);
        return size === 0 ? made : new Moved(made, made);
      },
      note: (text: string): void => void notes.push(text),
      own: async () => own === port2,
    });
    connect(port2, served(port2));
    const { call, tell } = connect<CallsOf<typeof served>>(port1, {});
    tell.note("first");
    const made: ArrayBuffer = await call.buffer(8);
    const own: boolean = await call.own();
    expect([made.byteLength, own, notes]).toEqual([8, true, ["first"]]);
    // @ts-expect-error a notification has no reply
    void call.note;
    // @ts-expect-error a call is no notification
    void tell.buffer;
  });

  it("goes both ways over one port", async () => {
    const { worker, page } = pair();
    expect(await Promise.all([worker.call.ask("why"), page.call.add(1, 1)])).toEqual(["why!", 2]);
  });

  it("rejects with the other side's error, typed and with its subject", async () => {
    const { call } = pair().page;
    const error = await call.fail("typed").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LabError);
    expect(error).toMatchObject({ code: "bad-input", message: "Row 3 has no mask", subject: "row 3" });
    await expect(call.fail("foreign")).rejects.toMatchObject({ code: "internal", message: "x is not a function" });
  });

  it("rejects when nothing answers its name", async () => {
    const { port1, port2 } = channel();
    connect(port2, adding as Handlers<unknown>);
    const { call } = connect<WorkerCalls>(port1, {});
    await expect(call.fail("typed")).rejects.toMatchObject({ code: "internal", message: /"fail"/ });
  });

  it("rejects at once when an argument cannot be cloned, and the next one is answered", async () => {
    const { call } = pair().page;
    await expect(call.add({ inner: () => 1 } as never, 2)).rejects.toThrow(/clone/);
    expect(await call.add(2, 2)).toBe(4);
  });

  it("calls functions back until it is answered", async () => {
    const { page } = pair();
    const seen: number[][] = [];
    expect(await page.call.count(3, (done, total) => seen.push([done, total]))).toBe("counted");
    await page.call.add(0, 0);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(seen).toEqual([
      [1, 3],
      [2, 3],
      [3, 3],
    ]);
  });
});

describe("a signal", () => {
  it("ends its own call and no other", async () => {
    const { call } = pair().page;
    const [one, two] = [new AbortController(), new AbortController()];
    const first = expect(call.wait("first", one.signal)).rejects.toMatchObject({ code: "cancelled" });
    const second = call.wait("second", two.signal);
    one.abort();
    await first;
    two.abort();
    await expect(second).rejects.toThrow("second was stopped");
  });

  it("that was aborted before the call ends it", async () => {
    await expect(pair().page.call.wait("late", AbortSignal.abort())).rejects.toThrow("late was stopped");
  });

  it("may be left out", async () => {
    const { page } = pair();
    const waiting = page.call.wait("forever", undefined);
    page.fail({ code: "internal", message: "gone" }, false);
    await expect(waiting).rejects.toThrow("gone");
  });
});

describe("what changes hands", () => {
  it("is the buffer of a result", async () => {
    const { page, left } = pair();
    expect((await page.call.buffer(64)).byteLength).toBe(64);
    expect(left().byteLength).toBe(0);
  });

  it("is a port, which then carries calls", async () => {
    const { port1, port2 } = channel();
    connect(port2, adding as Handlers<unknown>);
    expect(await pair().page.call.over(port1)).toBe(23);
  });
});

describe("a side that is gone", () => {
  it("rejects the calls in progress, and later ones only when it is gone for good", async () => {
    const { page } = pair();
    const waiting = page.call.wait("first");
    page.fail({ code: "internal", message: "It threw", subject: "data" }, false);
    await expect(waiting).rejects.toMatchObject({ code: "internal", message: "It threw", subject: "data" });
    expect(await page.call.add(1, 2)).toBe(3);
    page.fail({ code: "internal", message: "It ended" }, true);
    await expect(page.call.add(1, 2)).rejects.toThrow("It ended");
  });
});

it("what is told arrives in order and is not answered", async () => {
  const heard: string[] = [];
  const { page } = pair({ ask: async (question) => question, heard: (text) => void heard.push(text) });
  page.tell.note("a");
  page.tell.note("b");
  await vi.waitFor(() => expect(heard).toEqual(["noted a", "noted b"]));
});

it("the calls may be the value of a promise", async () => {
  const { call } = pair().page;
  const same: Calls<WorkerCalls> = await Promise.resolve(call);
  expect(await same.add(1, 1)).toBe(2);
});
