import { afterEach, expect, test, vi } from "vitest";
import { readNotes, writeNotes } from "../../../src/engine/runs/notes.ts";
import { createRun, openRun } from "../../../src/engine/runs/run-folder.ts";
import { oneAtATime } from "../../../src/engine/storage/lock.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import type { RunStore } from "../../../src/engine/storage/store.ts";
import { manifest } from "./sample-run.ts";

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** A store whose reads and writes take a moment, as those of a disk do. */
function slowStore(store: RunStore = memoryStore()): RunStore {
  const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));
  return {
    ...store,
    readText: async (path) => {
      const text = await store.readText(path);
      await moment();
      return text;
    },
    write: async (path, content) => {
      await moment();
      await store.write(path, content);
    },
  };
}

/** Locks of an origin, handed out in the order they were asked for. */
function originLocks() {
  const held = new Map<string, Promise<unknown>>();
  const names: string[] = [];
  const request = (name: string, callback: () => Promise<void>): Promise<unknown> => {
    names.push(name);
    const before = held.get(name) ?? Promise.resolve();
    const mine = before.then(callback);
    held.set(
      name,
      mine.catch(() => undefined),
    );
    return mine;
  };
  return { request, names };
}

/** The modules as another worker has them: with a chain of its own. */
async function anotherWorker() {
  vi.resetModules();
  return {
    notes: await import("../../../src/engine/runs/notes.ts"),
    folders: await import("../../../src/engine/runs/run-folder.ts"),
  };
}

test("notes written at the same moment are all kept, in one worker without locks", async () => {
  vi.stubGlobal("navigator", undefined);
  const store = slowStore();
  const steps = [{ step: 3, text: "raised the temperature" }];
  await Promise.all([{ text: "a" }, { tags: ["b"] }, { steps }].map((part) => writeNotes(store, "run", part)));
  await Promise.all([writeNotes(store, "run", { tags: [] }), writeNotes(store, "run", { text: "d" })]);
  expect(await readNotes(store, "run")).toEqual({ text: "d", tags: [], steps });
});

test("a name and a state written at the same moment are both kept", async () => {
  vi.stubGlobal("navigator", undefined);
  const store = slowStore();
  const trained = await createRun(store, manifest());
  const renamed = await openRun(store, "brave-otter");
  await Promise.all([renamed.update({ title: "Another" }), trained.update({ state: "finished" })]);
  expect((await openRun(store, "brave-otter")).manifest()).toMatchObject({ title: "Another", state: "finished" });
  expect(trained.manifest()).toMatchObject({ title: "Another", state: "finished" });
});

test("workers wait for each other where there are locks", async () => {
  const locks = originLocks();
  vi.stubGlobal("navigator", { locks });
  const store = slowStore();
  const trained = await createRun(store, manifest());
  const data = await anotherWorker();
  const renamed = await data.folders.openRun(store, "brave-otter");
  await Promise.all([
    trained.update({ state: "paused" }),
    renamed.update({ title: "Another" }),
    writeNotes(store, "brave-otter", { text: "a" }),
    data.notes.writeNotes(store, "brave-otter", { tags: ["b"] }),
  ]);
  expect((await openRun(store, "brave-otter")).manifest()).toMatchObject({ title: "Another", state: "paused" });
  expect(await readNotes(store, "brave-otter")).toEqual({ text: "a", tags: ["b"], steps: [] });
  // None of them may look like the lock of a run that is being trained.
  expect(locks.names.filter((name) => name.startsWith("sa2va-lab/run/"))).toEqual([]);
});

test("a change that fails is told to its caller, and the next one is carried out", async () => {
  const locks = originLocks();
  for (const given of [null, locks]) {
    const order: string[] = [];
    const failed = oneAtATime(
      "run/file",
      async () => {
        order.push("first");
        throw new Error("no room");
      },
      given,
    );
    const next = oneAtATime("run/file", async () => order.push("second"), given);
    await expect(failed).rejects.toThrow("no room");
    expect(await next).toBe(2);
    expect(order).toEqual(["first", "second"]);
  }
});

test("changes of other paths do not wait", async () => {
  let finish = (): void => undefined;
  const long = oneAtATime(
    "run/a",
    () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      }),
    null,
  );
  expect(await oneAtATime("run/b", async () => "done", null)).toBe("done");
  finish();
  await long;
});

test("a lock manager that fails is reported, and nothing is changed", async () => {
  let changed = false;
  const change = async (): Promise<void> => {
    changed = true;
  };
  const refusing = { request: () => Promise.reject(new Error("no locks here")) };
  await expect(oneAtATime("run/file", change, refusing)).rejects.toThrow("no locks here");
  expect(changed).toBe(false);
});
