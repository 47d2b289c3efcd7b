import { unzipSync } from "fflate";
import { expect, test } from "vitest";
import { runLibrary } from "../../../src/engine/runs/library.ts";
import { heldRuns, holdRun, type RunLocks } from "../../../src/engine/runs/lock.ts";
import { memoryStore } from "../../../src/engine/runs/memory-store.ts";
import { createRun, openRun } from "../../../src/engine/runs/run-folder.ts";
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
    ["brave-otter", 1, { loop2: 0.5 }],
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
  const library = runLibrary({
    ...store,
    readText: async (path) => {
      // Each is deleted at another point: before its manifest is read, and before its metrics are.
      const id = path.split("/")[0] as string;
      if (path === "brave-otter/run.json" || path === "calm-heron/metrics.jsonl") {
        if (reading.delete(id)) await store.remove(id);
      }
      return store.readText(path);
    },
  });
  for (const id of ["brave-otter", "calm-heron", "still-here"]) {
    await (await createRun(store, manifest(id))).appendStep(1, { loss: 1 });
  }
  const { runs, damaged } = await library.list();
  expect(runs.map((run) => run.manifest.id)).toEqual(["still-here"]);
  expect(damaged).toEqual([]);
});
