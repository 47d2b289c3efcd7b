/** A fork: what it copies, in which order, and what it forgets. */
import { unzipSync } from "fflate";
import { expect, it } from "vitest";
import type { LabConfig } from "../../../src/engine/config/table.ts";
import { baselineOf } from "../../../src/engine/eval/report.ts";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { listCheckpoints } from "../../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import {
  type EvalReport,
  readEvaluations,
  writeEvaluations,
} from "../../../src/engine/runs/evaluations/evaluations.ts";
import { readNotes } from "../../../src/engine/runs/notes.ts";
import { createRun, openRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { forkRun } from "../../../src/plugins/fork/fork.ts";
import { zippedRun } from "../../support/zipped-run.ts";
import { killAfter } from "./killed-store.ts";
import { state } from "./sample-checkpoint.ts";
import { evaluation } from "./sample-evaluations.ts";
import { group, manifest } from "./sample-run.ts";

const PARENT = "brave-otter";

async function parent() {
  const store = memoryStore();
  const run = await createRun(store, manifest(PARENT));
  for (const step of [1, 2]) {
    await run.appendStep(step, { loss: step });
    await run.appendGroups(step, [group(step, 1, 0)]);
  }
  await writeCheckpoint(store, PARENT, state(1));
  await writeEvaluations(store, PARENT, [evaluation(0, 0.25), evaluation(1, 0.5)]);
  return store;
}

/** Names of the rewards that an evaluation has. */
const known = (reward: EvalReport["reward"] | undefined): string[] =>
  Object.entries(reward?.scores ?? { none: 0 }).flatMap(([name, score]) => (score === null ? [] : [name]));

const fork = (changes: Partial<LabConfig> = {}) => ({
  step: 1,
  id: "copy",
  title: "copy",
  created: "2026-01-01T00:00:00.000Z",
  changes,
});

it("has its checkpoint only once all else is as it stays, whenever it is killed", async () => {
  for (let whole = 0; ; whole++) {
    const store = await parent();
    await writeEvaluations(store, PARENT, [evaluation(0, 0.25), evaluation(1, 0.5), evaluation(2, 0.5)]);
    const to = memoryStore();
    killAfter(to, whole);
    const done = await forkRun(store, PARENT, fork({ loop2Iou: 0.5 }), to).catch(() => null);
    if ((await listCheckpoints(to, "copy")).includes(1)) {
      const copied = await openRun(to, "copy");
      expect(await copied.groupSteps()).toEqual([1]);
      expect((await copied.readMetrics()).map(({ step }) => step)).toEqual([1]);
      const scored = await readEvaluations(to, "copy");
      expect(scored.map(({ report }) => report.step)).toEqual([0, 1]);
      for (const { report } of scored) expect(known(report.reward)).toEqual([]);
    }
    if (done !== null) return expect(whole).toBeGreaterThan(5);
  }
});

it("keeps the evaluations of its parent, but for rewards that it scores otherwise", async () => {
  const store = await parent();
  await forkRun(store, PARENT, fork({ learningRate: 0.001, judgeMaxCalls: 7 }));
  expect(await readEvaluations(store, "copy")).toEqual(await readEvaluations(store, PARENT));
  await forkRun(store, PARENT, { ...fork({ loop2Iou: 0.5 }), id: "other" });
  const [start, end] = await readEvaluations(store, "other");
  for (const found of [start, end]) {
    expect(found?.report.selection).toBeNull();
    expect(known(found?.report.reward)).toEqual([]);
    expect(
      found?.rows.flatMap(({ rewards = {} }) => Object.values(rewards)).filter((reward) => reward !== null),
    ).toEqual([]);
  }
  expect(end?.report.means).toEqual(evaluation(1, 0.5).report.means);
  // What comes is compared with the first evaluation that has the fork's rewards.
  const { rows } = evaluation(1, 0.5);
  expect(baselineOf([start!, { ...end!, rows }], rows, "field")?.report.step).toBe(1);
  expect(baselineOf([start!, end!], rows, "field")?.report.step).toBe(0);
});

it("notes at its step what changed, with code by its name alone", async () => {
  const store = await parent();
  await forkRun(store, PARENT, fork());
  expect((await readNotes(store, "copy")).steps).toEqual([]);
  const changes = { learningRate: 0.001, userReward: "const reward = () => 1;" } as Partial<LabConfig>;
  await forkRun(store, PARENT, { ...fork(changes), id: "other" });
  const [note] = (await readNotes(store, "other")).steps;
  expect(note?.step).toBe(1);
  expect(note?.text).toBe("Fork: Custom reward changed, Learning rate 0.001");
  const [part, ...more] = (await openRun(store, "other")).manifest().segments ?? [];
  const learningRate = { from: (await openRun(store, PARENT)).manifest().config.learningRate, to: 0.001 };
  expect(part).toMatchObject({ fromStep: 1, engine: "lab", changed: { learningRate } });
  expect(more).toEqual([]);
});

it("leaves behind what the zip of its parent added", async () => {
  const store = await parent();
  const added = ["alarms.csv", "evaluations.csv", "metrics.csv", "settings.csv", "events.out.tfevents.7.sa2va-lab"];
  for (const name of added) await store.write(`${PARENT}/${name}`, "of the parent");
  await store.write(`${PARENT}/start/settings.csv`, "its own");
  await forkRun(store, PARENT, fork());
  const copied = (await store.list("copy")).map(({ path }) => path.slice(5));
  expect(copied.filter((path) => added.includes(path))).toEqual([]);
  expect(copied).toContain("start/settings.csv");
  for (const id of [PARENT, "copy"]) {
    const files = unzipSync(await zippedRun(store, id));
    const text = (name: string): string => new TextDecoder().decode(files[`${id}/${name}`]);
    expect(text("metrics.csv")).toMatch(/^step,/);
    expect(Object.keys(files).filter((path) => path.includes("tfevents"))).toHaveLength(1);
  }
});
