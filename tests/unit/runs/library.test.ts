import { unzipSync } from "fflate";
import { expect, test } from "vitest";
import { folderOf, memorySource } from "../../../src/engine/bytes/source.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { EVAL_METRICS, writeEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { runLibrary } from "../../../src/engine/runs/library/library.ts";
import { NO_NOTES } from "../../../src/engine/runs/notes.ts";
import { createRun, openRun } from "../../../src/engine/runs/run-folder.ts";
import { heldRuns, hold, type RunLocks } from "../../../src/engine/storage/lock.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import type { RunStore } from "../../../src/engine/storage/store.ts";
import { folderStore } from "../../../src/engine/storage/store.ts";
import { zippedRun } from "../../support/zipped-run.ts";
import { state } from "./sample-checkpoint.ts";
import { evaluation } from "./sample-evaluations.ts";
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
  const release = await hold("run", "a", locks);
  expect(await hold("run", "a", locks)).toBeNull();
  expect(await hold("run", "b", locks)).not.toBeNull();
  release?.();
  await new Promise((resolve) => setTimeout(resolve));
  expect(await hold("run", "a", locks)).not.toBeNull();
});

test("tells which runs are taken, and nothing of other locks", async () => {
  const held = ["sa2va-lab/run/brave-otter", "something else", "sa2va-lab/run/calm-heron"].map((name) => ({ name }));
  expect([...(await heldRuns({ query: async () => ({ held }) }))]).toEqual(["brave-otter", "calm-heron"]);
  expect(await heldRuns({ query: async () => ({}) })).toEqual(new Set());
  expect(await heldRuns(null)).toEqual(new Set());
});

test("a lock manager that fails is reported", async () => {
  const locks: RunLocks = { request: () => Promise.reject(new Error("no locks here")) };
  await expect(hold("run", "a", locks)).rejects.toThrow("no locks here");
  expect(await hold("run", "a", null)).toBeTypeOf("function");
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
  expect(Object.keys(unzipSync(await zippedRun(store, "brave-otter")))).toContain("brave-otter/run.json");

  const release = await hold("run", "brave-otter", locks);
  await expect(library.remove("brave-otter")).rejects.toThrow(/is being trained and was not deleted/);
  release?.();
  await new Promise((resolve) => setTimeout(resolve));
  await library.remove("brave-otter");
  await expect(library.open("brave-otter")).rejects.toMatchObject({ code: "storage" });
});

test("a removal that was interrupted after any of its files is completed by the next list", async () => {
  for (let left = 0; ; left++) {
    const store = memoryStore();
    const run = await createRun(store, manifest());
    for (const step of [1, 2]) await run.appendGroups(step, [group(step, 2, 0)]);
    await run.appendStep(2, { "loop2/reward": 0.5 });
    const { remove } = store;
    let files = left;
    // A folder is removed file by file.
    const killed: RunStore = {
      ...store,
      remove: async (prefix) => {
        for (const { path } of await store.list(prefix)) {
          if (files-- === 0) throw new Error("killed");
          await remove(path);
        }
      },
    };
    const ended = await runLibrary(killed, null)
      .remove(run.id)
      .then(
        () => true,
        () => false,
      );
    const { runs, damaged } = await runLibrary(store, null).list();
    expect([runs, damaged, await store.list(run.id)]).toEqual([[], [], []]);
    // The name can be used again.
    await createRun(store, manifest());
    expect((await runLibrary(store, null).list()).runs).toHaveLength(1);
    if (ended) break;
  }
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

test("a run that grows while its metrics are read is listed with its new end", async () => {
  const store = memoryStore();
  const run = await createRun(store, manifest("brave-otter"));
  await run.appendStep(1, { loss: 1 });
  let grown = false;
  const library = runLibrary({
    ...store,
    open: async (path) => {
      const source = await store.open(path);
      if (grown) return source;
      grown = true;
      await run.appendStep(2, { loss: 1 });
      // What a browser says of a file that has changed since it was opened.
      const read = () => Promise.reject(new LabError("storage", `${path} could not be read`));
      return { ...source, read };
    },
  });
  const { runs, damaged } = await library.list();
  expect(damaged).toEqual([]);
  expect(runs.map(({ steps }) => steps)).toEqual([2]);
});

test("a list reads metrics once, and the second one of unchanged runs reads only manifests, whatever the runs hold", async () => {
  const store = memoryStore();
  const line = { "loop1/reward": 0.25, note: 1 };
  for (let n = 0; n < 40; n++) {
    await createRun(store, manifest(`run-${n}`));
    const lines = Array.from({ length: 3000 }, (_, at) =>
      JSON.stringify({ step: at + 1, ...line, "loop2/reward": at }),
    );
    await store.append(`run-${n}/metrics.jsonl`, `${lines.join("\n")}\n`);
    await store.write(`run-${n}/checkpoints/step-000100/complete.json`, "{}");
    for (let step = 1; step <= 20; step++) await store.write(`run-${n}/rollouts/step-00000${step}.arrow`, "");
  }
  await writeEvaluations(store, "run-7", [evaluation(100, 0.5)]);
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
    names: (folder: string) => note("names", store.names(folder)),
    size: (path: string) => note("size", store.size(path)),
    readText: (path: string) => note(path.endsWith("run.json") ? "manifest" : "text", store.readText(path)),
    open: async (path: string) => {
      const source = await note("open", store.open(path));
      const read = (start: number, end: number) => {
        bytes += end - start;
        return source.read(start, end);
      };
      return { ...source, read };
    },
  };
  const counts = () => {
    const count = (what: string): number => asked.filter((one) => one === what).length;
    const found = ["manifest", "text", "open", "list", "names", "size"].map(count);
    asked.length = 0;
    return found;
  };
  const library = runLibrary(counted);
  const { runs } = await library.list();
  expect(runs).toHaveLength(40);
  expect(runs[0]).toMatchObject({ steps: 3000, rewards: { 1: 0.25, 2: 2994.5 }, checkpoints: [100] });
  // Every 64th step.
  expect(runs[0]?.curve.map((point) => point[2])).toEqual(Array.from({ length: 47 }, (_, at) => 64 * at));
  const scored = runs.find((run) => run.manifest.id === "run-7");
  expect(scored).toMatchObject({ evaluated: [100], best: { step: 100 } });
  // Each manifest and its metrics once; sizes of what a run holds are asked once, and removals to complete.
  expect(counts()).toEqual([40, 1, 40, 40, 82, 40 + 1 + 40 + 2]);
  const whole = (await store.size("run-0/metrics.jsonl")) as number;
  expect(bytes).toBe(40 * (whole + 200));
  expect(most).toBeGreaterThan(8);

  // Again: only whether metrics, evaluations and checkpoints are as they were.
  expect(await library.list()).toEqual({ ...(await runLibrary(store).list()), runs });
  expect(counts()).toEqual([40, 1, 0, 0, 82, 40 + 1 + 40 + 1]);
  await (await openRun(store, "run-3")).appendStep(3001, { "loop1/reward": 1 });
  await store.write("run-3/rollouts/step-000010.arrow", "21 bytes of rollouts.");
  await store.remove("run-5");
  bytes = 0;
  const changed = await library.list();
  // The new line, and twice the end of what was read.
  expect(bytes).toBe(((await store.size("run-3/metrics.jsonl")) as number) - whole + 2 * 200);
  const grown = changed.runs.find((run) => run.manifest.id === "run-3");
  expect(grown?.steps).toBe(3001);
  expect(grown?.bytes).toBe((await store.list("run-3")).reduce((sum, { size }) => sum + size, 0));
  expect(changed.runs).toHaveLength(39);
  // Of the rollouts only the new file is asked for its size: its other files and folders are listed.
  expect(counts().slice(1)).toEqual([1, 1, 4, 81, 39 + 1 + 39 + 1 + 1]);

  // A run that went back to a checkpoint has fewer rollouts.
  await (await openRun(store, "run-3")).appendStep(3002, { "loop1/reward": 1 });
  for (const step of [19, 20]) await store.remove(`run-3/rollouts/step-00000${step}.arrow`);
  const back = (await library.list()).runs;
  const shorter = back.find((run) => run.manifest.id === "run-3");
  expect(shorter?.bytes).toBe((await store.list("run-3")).reduce((sum, { size }) => sum + size, 0));
  counts();

  // What is remembered can be damaged: it is computed again.
  await store.write(".digests.json", '{"version":1,"runs":{"run-7":{}}}');
  expect((await library.list()).runs).toEqual(back);
  expect(counts().slice(2, 4)).toEqual([39, 39]);
});

test("notes and tags go with a run through its export, and unknown keys of their file stay", async () => {
  const store = memoryStore();
  const library = runLibrary(store);
  await createRun(store, manifest());
  const notesOf = async () => (await library.list()).runs[0]?.notes;
  expect(await notesOf()).toEqual(NO_NOTES);
  await store.write("brave-otter/notes.json", '{"tags": ["old"], "stars": 4}');
  expect(await notesOf()).toEqual({ text: "", tags: ["old"], steps: [] });
  await library.setNotes("brave-otter", { text: " best so far\n", tags: ["good, masks", " good ", ""] });
  const steps = [
    { step: 9, text: "  " },
    { step: 7, text: " raised the temperature " },
    { step: 2, text: "first" },
    { step: 2, text: "second" },
  ];
  await library.setNotes("brave-otter", { steps });
  const kept = steps.slice(1, 4).map(({ step, text }) => ({ step, text: text.trim() }));
  // A step has one note; setting them leaves text and tags as they are.
  expect(await notesOf()).toEqual({ text: "best so far", tags: ["good", "masks"], steps: [kept[2], kept[0]] });
  expect(JSON.parse(await store.readText("brave-otter/notes.json"))).toMatchObject({ stars: 4 });
  const zip = unzipSync(await zippedRun(store, "brave-otter"));
  const folder = folderOf(new Map(Object.entries(zip).map(([path, file]) => [path, memorySource(path, file)])));
  const imported = runLibrary(folderStore(folder));
  expect((await imported.open("brave-otter")).run.notes.tags).toEqual(["good", "masks"]);
  await expect(imported.setNotes("brave-otter", NO_NOTES)).rejects.toThrow(/cannot be changed/);
  // Damaged notes are named when they are edited; the run stays in the list.
  await store.write("brave-otter/notes.json", '{"tags": 5}');
  expect(await notesOf()).toEqual(NO_NOTES);
  await expect(library.setNotes("brave-otter", NO_NOTES)).rejects.toThrow(/notes\.json.*tags/);
  await store.write("brave-otter/notes.json", '{"steps": [{"step": 2, "text": "a", "by": "me"}]}');
  await library.setNotes("brave-otter", { text: "b", tags: [`${"a".repeat(39)} b`, "a".repeat(39)] });
  await library.setNotes("brave-otter", {
    steps: [
      { step: 2, text: "c" },
      { step: 3, text: "d" },
    ],
  });
  expect(JSON.parse(await store.readText("brave-otter/notes.json"))).toEqual({
    ...{ text: "b", tags: ["a".repeat(39)] },
    steps: [
      { step: 2, text: "c", by: "me" },
      { step: 3, text: "d" },
    ],
  });
});

test("notes of a run that was deleted meanwhile leave nothing behind", async () => {
  const store = memoryStore();
  const library = runLibrary(store);
  await createRun(store, manifest());
  await library.remove("brave-otter");
  await expect(library.setNotes("brave-otter", { text: "late" })).rejects.toMatchObject({ code: "storage" });
  expect(await library.list()).toMatchObject({ runs: [], damaged: [] });
});

test("a run whose evaluation lacks a number is remembered with the others", async () => {
  const store = memoryStore();
  await createRun(store, manifest());
  const [start, end] = [evaluation(0, 0.25), evaluation(1, 0.5)];
  const gap = { mean: Number.NaN, low: Number.NaN, high: Number.NaN };
  const difference = Object.fromEntries(EVAL_METRICS.map((name) => [name, { mean: 0.25, low: 0, high: 0.5 }]));
  const report = { ...end.report, baseline: 0, difference: { ...difference, loop1_sampled: gap } };
  await writeEvaluations(store, "brave-otter", [start, { ...end, report: report as typeof end.report }]);
  const [run] = (await runLibrary(store).list()).runs;
  expect(run?.gains.map(({ score }) => score)).not.toContain("loop1_sampled");
  expect(run?.gains.map(({ score }) => score)).toContain("loop1_greedy");
  let read = 0;
  const counted = {
    ...store,
    readText: (path: string) => {
      read += Number(path.endsWith("eval.jsonl"));
      return store.readText(path);
    },
  };
  expect((await runLibrary(counted).list()).runs).toEqual([run]);
  expect(read).toBe(0);
});

test("a stored run takes over the steps that another machine added, and no other run", async () => {
  const [store, far] = [memoryStore(), memoryStore()];
  const locks = fakeLocks();
  const library = runLibrary(store, locks);
  const steps = async (place: RunStore, count: number): Promise<void> => {
    const run = await createRun(place, manifest());
    for (let step = 1; step <= count; step++) {
      await run.appendStep(step, { loss: step, "loop2/reward": Number.NaN });
      await run.appendGroups(step, [group(step, 2, 0)]);
    }
  };
  await steps(store, 2);
  await store.write("brave-otter/notes.json", "mine");
  await steps(far, 3);
  await writeCheckpoint(far, "brave-otter", state(3));
  for (const path of ["notes.json", "scale/rows.jsonl"]) await far.write(`brave-otter/${path}`, "theirs");
  const cut = "brave-otter/checkpoints/step-000003/ema.safetensors";
  const whole = await far.read(cut);
  await far.write(cut, whole.slice(1));
  await expect(library.takeOver("brave-otter", far)).rejects.toThrow(/ema.safetensors/);
  expect((await library.open("brave-otter")).metrics).toHaveLength(2);
  await far.write(cut, whole);

  const release = await hold("run", "brave-otter", locks);
  await expect(library.takeOver("brave-otter", far)).rejects.toThrow(/is being trained and was not changed/);
  release?.();
  await new Promise((resolve) => setTimeout(resolve));
  expect(await library.takeOver("brave-otter", far)).toBe(true);
  const { run, metrics, groupSteps } = await library.open("brave-otter");
  expect([metrics.map(({ loss }) => loss), groupSteps, run.checkpoints]).toEqual([[1, 2, 3], [1, 2, 3], [3]]);
  expect(await store.readText("brave-otter/notes.json")).toBe("mine");
  expect(await store.size("brave-otter/scale/rows.jsonl")).toBeNull();
  // A copy that was interrupted before its checkpoint is taken over again.
  await store.remove("brave-otter/checkpoints");
  await library.takeOver("brave-otter", far);
  expect((await library.open("brave-otter")).run.checkpoints).toEqual([3]);
  // The same run, and an earlier export of it: nothing is new and nothing changes.
  const before = JSON.stringify(await library.open("brave-otter"));
  expect(await library.takeOver("brave-otter", far)).toBe(false);
  const early = memoryStore();
  const start = await createRun(early, manifest());
  await start.appendStep(1, { loss: 1, "loop2/reward": Number.NaN });
  expect(await library.takeOver("brave-otter", early)).toBe(false);
  // With an evaluation, rollouts or a step that the stored run lacks, it is refused.
  await writeEvaluations(early, "brave-otter", [evaluation(1, 0.5)]);
  await expect(library.takeOver("brave-otter", early)).rejects.toThrow(/with 3 steps, which the opened run does not/);
  await early.remove("brave-otter/eval.jsonl");
  await start.appendGroups(7, [group(7, 1, 0)]);
  await expect(library.takeOver("brave-otter", early)).rejects.toThrow(/with 3 steps, which the opened run does not/);
  expect(JSON.stringify(await library.open("brave-otter"))).toBe(before);
  const other = memoryStore();
  await (await createRun(other, manifest())).appendStep(1, { loss: 7 });
  await expect(library.takeOver("brave-otter", other)).rejects.toMatchObject({ code: "bad-input" });
});
