import { unzipSync } from "fflate";
import { expect, test } from "vitest";
import { runLibrary } from "../../../src/engine/runs/library.ts";
import { createRun, openRun } from "../../../src/engine/runs/run-folder.ts";
import { heldRuns, holdRun, type RunLocks } from "../../../src/engine/storage/lock.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { group, manifest } from "./sample-run.ts";

/** Locks of one origin, as LockManager hands them out with ifAvailable. */
function fakeLocks(): RunLocks {
  const taken = new Set<string>();
  return {
    request: async (name, _, callback) => {
      if (taken.has(name)) return callback(null);
      taken.add(name);
      try {
        await callback({ name });
      } finally {
        taken.delete(name);
      }
    },
  };
}

test("one holder per run, and giving it back lets the next one in", async () => {
  const locks = fakeLocks();
  const release = await holdRun("a", locks);
  expect(await holdRun("a", locks)).toBeNull();
  expect(await holdRun("b", locks)).not.toBeNull();
  release?.();
  await new Promise((resolve) => setTimeout(resolve));
  expect(await holdRun("a", locks)).not.toBeNull();
});

test("tells which runs are taken, and nothing of other locks", async () => {
  const held = ["sa2va-lab/run/brave-otter", "something else", "sa2va-lab/run/calm-heron"].map((name) => ({ name }));
  expect([...(await heldRuns({ query: async () => ({ held }) }))]).toEqual(["brave-otter", "calm-heron"]);
  expect(await heldRuns({ query: async () => ({}) })).toEqual(new Set());
  expect(await heldRuns(null)).toEqual(new Set());
});

test("a lock manager that fails is reported", async () => {
  const locks: RunLocks = { request: () => Promise.reject(new Error("no locks here")) };
  await expect(holdRun("a", locks)).rejects.toThrow("no locks here");
  expect(await holdRun("a", null)).toBeTypeOf("function");
});

test("lists, opens, renames, exports and deletes", async () => {
  const store = memoryStore();
  const locks = fakeLocks();
  const library = runLibrary(store, locks);
  const run = await createRun(store, manifest());
  await run.appendStep(1, { "loop2/reward": 0.5 });
  await run.appendGroups(1, [group(1, 2, 0)]);
  await createRun(store, manifest("bad-metrics"));
  await store.write("bad-metrics/metrics.jsonl", "no json\n");

  const listed = await library.list();
  expect(listed.runs.map((found) => [found.manifest.id, found.steps, found.rewards])).toEqual([
    ["brave-otter", 1, { 2: 0.5 }],
  ]);
  expect(listed.damaged).toEqual(["bad-metrics"]);
  expect(listed.usage).toBeGreaterThan(0);
  const opened = await library.open("brave-otter");
  expect(opened.metrics).toEqual([{ step: 1, "loop2/reward": 0.5 }]);
  expect(opened.groupSteps).toEqual([1]);
  expect(await library.groups("brave-otter", 1)).toEqual([group(1, 2, 0)]);

  await library.rename("brave-otter", "Another");
  await run.update({ state: "paused" });
  expect((await openRun(store, "brave-otter")).manifest()).toMatchObject({ title: "Another", state: "paused" });
  const zip = await library.zip("brave-otter");
  expect(Object.keys(unzipSync(new Uint8Array(await zip.arrayBuffer())))).toContain("brave-otter/run.json");

  const release = await holdRun("brave-otter", locks);
  await expect(library.remove("brave-otter")).rejects.toThrow(/is being trained and was not deleted/);
  release?.();
  await new Promise((resolve) => setTimeout(resolve));
  await library.remove("brave-otter");
  await expect(library.open("brave-otter")).rejects.toMatchObject({ code: "storage" });
});

test("a run that is deleted while all are listed is neither listed nor damaged", async () => {
  const store = memoryStore();
  const reading = new Set(["brave-otter", "calm-heron"]);
  // Each is deleted at another point: before its manifest is read, and before its metrics are.
  const before = async (path: string): Promise<void> => {
    const id = path.split("/")[0] as string;
    if (path === "brave-otter/run.json" || path === "calm-heron/metrics.jsonl") {
      if (reading.delete(id)) await store.remove(id);
    }
  };
  const library = runLibrary({
    ...store,
    readText: (path) => before(path).then(() => store.readText(path)),
    open: (path) => before(path).then(() => store.open(path)),
  });
  for (const id of ["brave-otter", "calm-heron", "still-here"]) {
    await (await createRun(store, manifest(id))).appendStep(1, { loss: 1 });
  }
  const { runs, damaged } = await library.list();
  expect(runs.map((run) => run.manifest.id)).toEqual(["still-here"]);
  expect(damaged).toEqual([]);
});

test("a list of many runs reads each manifest once and the end of its metrics, and lists the store once", async () => {
  const store = memoryStore();
  const line = { "loop1/reward": 0.25, note: 1 };
  for (let n = 0; n < 40; n++) {
    const run = await createRun(store, manifest(`run-${n}`));
    const lines = Array.from({ length: 3000 }, (_, at) =>
      JSON.stringify({ step: at + 1, ...line, "loop2/reward": at }),
    );
    await store.append(`run-${n}/metrics.jsonl`, `${lines.join("\n")}\n`);
    await store.write(`run-${n}/checkpoints/step-000100/complete.json`, "{}");
    expect(run.id).toBe(`run-${n}`);
  }
  const asked: string[] = [];
  let [bytes, together, most] = [0, 0, 0];
  const note = async <T>(what: string, read: Promise<T>): Promise<T> => {
    asked.push(what);
    most = Math.max(most, ++together);
    await new Promise((resolve) => setTimeout(resolve));
    together--;
    return read;
  };
  const counted = {
    ...store,
    list: (prefix: string) => note("list", store.list(prefix)),
    size: (path: string) => note("size", store.size(path)),
    readText: (path: string) => note("text", store.readText(path)),
    open: async (path: string) => {
      const source = await note("open", store.open(path));
      const read = (start: number, end: number) => {
        bytes += end - start;
        return source.read(start, end);
      };
      return { ...source, read };
    },
  };
  const { runs } = await runLibrary(counted).list();
  expect(runs).toHaveLength(40);
  expect(runs[0]).toMatchObject({ steps: 3000, rewards: { 1: 0.25, 2: 2994.5 }, checkpoints: [100] });
  const times = (what: string): number => asked.filter((one) => one === what).length;
  expect([times("list"), times("text"), times("open")]).toEqual([1, 40, 40]);
  // Whether there are evaluations is asked where there is a checkpoint to choose.
  expect(times("size")).toBeLessThanOrEqual(40);
  expect(bytes).toBe(40 * 2 ** 16);
  expect(most).toBeGreaterThan(8);
});
