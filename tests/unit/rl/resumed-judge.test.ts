/** A resumed or forked run opens its judge with the budget that its own steps have used; a fork needs its parent's rows. */
import { expect, it } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { rowsHash } from "../../../src/engine/data/open-rows.ts";
import { LabError } from "../../../src/engine/errors.ts";
import type { Sa2vaModel } from "../../../src/engine/model/sa2va.ts";
import type { Spending } from "../../../src/engine/rewards/judge/budget.ts";
import type { Lab } from "../../../src/engine/rl/run/lab.ts";
import { partOf, prepareStored } from "../../../src/engine/rl/run/start/prepare-run.ts";
import { dropLaterSteps, runSpending } from "../../../src/engine/rl/run/start/stored-state.ts";
import { type CheckpointState, writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { writeEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { type RunManifest, VERSION } from "../../../src/engine/runs/manifest.ts";
import { createRun, openRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { prepareFork } from "../../../src/plugins/fork/fork-calls.ts";
import { state } from "../runs/sample-checkpoint.ts";
import { evaluation } from "../runs/sample-evaluations.ts";
import { manifest } from "../runs/sample-run.ts";

const list = {
  dataSet: "shapes",
  rows: Array.from({ length: 10 }, (_, at) => [`row ${at}`, `image ${at}`] as const),
};
const config = { ...defaultConfig(), weightStorage: "f32", towerStorage: "same", heldOutShare: 0.1 } as const;
const model = { storage: { language: "f32", towers: "f32" } } as Sa2vaModel;
const REFUSED = "The judge is only listened to";

/** A checkpoint that training can go on from. */
function usable(step: number): CheckpointState {
  const { moments, ...rest } = state(step);
  const squares = [...moments.v].map(
    ([name, { shape, read }]) => [name, { shape, read: async () => (await read()).map(Math.abs) }] as const,
  );
  return { ...rest, moments: { m: moments.m, v: new Map(squares) } };
}

async function stored() {
  const store = memoryStore();
  const data = { ...manifest().data, hash: await rowsHash(list.rows) };
  const run = await createRun(store, manifest("parent", { config, data }));
  await run.appendStep(1, { loss: 1, "judge/calls": 400, "judge/cost": 0.5 });
  await run.appendStep(2, { loss: 1 });
  await run.appendStep(3, { loss: 1, "judge/calls": 30, "judge/cost": 0.25 });
  await run.appendStep(4, { loss: 1, "judge/calls": 2, "judge/cost": 0.125 });
  await writeCheckpoint(store, "parent", usable(1));
  await writeCheckpoint(store, "parent", usable(3));
  const told: (Spending | undefined)[] = [];
  const begin = (_: unknown, before?: Spending) => {
    told.push(before);
    return Promise.reject(new LabError("bad-config", REFUSED));
  };
  const loaded = { model, hash: manifest().model.hash };
  const lab = { store, scorer: { begin }, emit: () => undefined, ...loaded } as unknown as Lab;
  return { store, told, lab };
}

it("names itself for its steps behind those of another program, with its own batch", () => {
  const [other, lab] = [
    { fromStep: 3, engine: "sa2va_lab", world: 2 },
    { fromStep: 6, engine: "lab" },
  ];
  const part = (done: number, segments?: RunManifest["segments"], promptsPerStep = 2) =>
    partOf({ config: { ...config, promptsPerStep }, ...(segments && { segments }) }, done);
  expect(part(6)).toEqual({});
  expect(part(6, [other])).toMatchObject({ segments: [other, lab] });
  expect(part(8, [other, lab])).toEqual({});
  // A part whose steps are dropped leaves the list.
  expect(part(8, [other, lab, { ...other, fromStep: 8 }])).toEqual({ segments: [other, lab] });
  // What another program changed is as before; what the lab changed stays with the part that goes on.
  const wide = (from: number, to: number) => ({ promptsPerStep: { from, to } });
  const widened = { ...other, changed: wide(2, 8) };
  expect(part(6, [widened], 8)).toMatchObject({ segments: [widened, { ...lab, changed: wide(8, 2) }] });
  expect(part(3, [widened], 8)).toEqual({ segments: [{ fromStep: 3, engine: "lab", version: VERSION }] });
  const later = [
    { ...lab, fromStep: 8, changed: wide(2, 4) },
    { ...widened, fromStep: 9, changed: wide(4, 8) },
  ];
  expect(part(8, [other, ...later], 8)).toMatchObject({
    segments: [other, { fromStep: 8, engine: "lab", changed: wide(2, 4) }],
  });
});

it("counts every logged step, also those after the checkpoint", async () => {
  const { lab, told } = await stored();
  await expect(prepareStored(lab, "parent", list)).rejects.toThrow(REFUSED);
  await expect(prepareStored(lab, "parent", list, undefined, 1)).rejects.toThrow(REFUSED);
  expect(told).toEqual([
    { calls: 432, cost: 0.875 },
    { calls: 432, cost: 0.875 },
  ]);
});

it("counts the steps of a fork without those of its parent", async () => {
  const { lab, store, told } = await stored();
  const fork = { step: 3, title: "copy", created: "2026-01-01T00:00:00.000Z", changes: {} };
  await expect(prepareFork(lab, "parent", list, fork)).rejects.toThrow(REFUSED);
  expect(told).toEqual([{ calls: 0, cost: 0 }]);
  const kept = await openRun(store, "parent");
  const own = await createRun(store, {
    ...kept.manifest(),
    id: "copy",
    forkedFrom: { run: "parent", step: 3 },
  });
  for (const { step, ...metrics } of await kept.readMetrics()) await own.appendStep(step as number, metrics);
  await writeCheckpoint(store, "copy", usable(3));
  await expect(prepareStored(lab, "copy", list)).rejects.toThrow(REFUSED);
  expect(told.at(-1)).toEqual({ calls: 2, cost: 0.125 });
});

it("names the parent of a fork over other rows", async () => {
  const { lab, store } = await stored();
  const fork = { step: 3, title: "copy", created: "2026-01-01T00:00:00.000Z", changes: {} };
  const { title } = (await openRun(store, "parent")).manifest();
  const others = { dataSet: "others", rows: list.rows.slice(1) };
  await expect(prepareFork(lab, "parent", others, fork)).rejects.toThrow(
    new RegExp(`^Run "${title}" uses the rows of .*; others has other rows`),
  );
});

it("counts evaluations too, and after a resume the requests of what it dropped", async () => {
  const { lab, store, told } = await stored();
  const evaluated = (step: number) => {
    const { report, rows } = evaluation(step, 0.5);
    return { report, rows: rows.map((row) => ({ ...row, judge: { calls: 10, cost: 0.0625 } })) };
  };
  await writeEvaluations(store, "parent", [evaluated(0), evaluated(4)]);
  await expect(prepareStored(lab, "parent", list)).rejects.toThrow(REFUSED);
  const spent = { calls: 432 + 2 * 60, cost: 0.875 + 2 * 0.375 };
  expect(told).toEqual([spent]);
  const run = await openRun(store, "parent");
  await dropLaterSteps(run, 3);
  expect(run.manifest().judgeDropped).toEqual({ calls: 62, cost: 0.5 });
  expect(await runSpending(await openRun(store, "parent"))).toEqual(spent);
  const fork = { step: 3, title: "copy", created: "2026-01-01T00:00:00.000Z", changes: {} };
  await expect(prepareFork(lab, "parent", list, fork)).rejects.toThrow(REFUSED);
  expect(told.at(-1)).toEqual({ calls: 0, cost: 0 });
});

it("leaves the judge on record as it is where the resume is refused afterwards", async () => {
  const { store, lab } = await stored();
  const judged = { id: "judge", version: "2" };
  const scorer = { begin: () => Promise.resolve(judged) };
  await store.write("parent/alarms.jsonl", "{");
  await expect(prepareStored({ ...lab, scorer } as unknown as Lab, "parent", list)).rejects.toThrow();
  expect(await store.size("parent/judge.json")).toBeNull();
});
