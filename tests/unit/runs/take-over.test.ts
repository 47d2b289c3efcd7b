/** Taking over what another machine computed: what stays of the stored run, and copies that are interrupted. */
import { expect, it } from "vitest";
import { writeCheckpoint } from "../../../src/engine/runs/checkpoint/checkpoint.ts";
import { listCheckpoints } from "../../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import { readEvaluations, writeEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { takeOver } from "../../../src/engine/runs/library/library.ts";
import { createRun, openRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { killAfter } from "./killed-store.ts";
import { state } from "./sample-checkpoint.ts";
import { evaluation } from "./sample-evaluations.ts";
import { group, manifest } from "./sample-run.ts";

const ID = "brave-otter";

/** A run of so many steps with a checkpoint of the first. */
async function runOf(count: number) {
  const store = memoryStore();
  const run = await createRun(store, manifest());
  for (let step = 1; step <= count; step++) {
    await run.appendStep(step, { loss: step });
    await run.appendGroups(step, [group(step, 1, 0)]);
  }
  await writeCheckpoint(store, ID, state(1));
  await writeEvaluations(store, ID, [evaluation(0, 0.25)]);
  return { store, run };
}

it("keeps the title of the stored run, and evaluations that the other machine has not made", async () => {
  const { store, run } = await runOf(2);
  await run.update({ title: "My name" });
  await writeEvaluations(store, ID, [evaluation(0, 0.25), evaluation(1, 0.5)]);
  const { store: far } = await runOf(4);
  await far.write(
    `${ID}/run.json`,
    JSON.stringify({ ...manifest(), state: "finished", segments: [{ fromStep: 7, engine: "other" }] }),
  );
  await far.write(`${ID}/metrics.csv`, "of an export");
  await writeEvaluations(far, ID, [evaluation(0, 0.25), evaluation(3, 0.75)]);
  await takeOver(store, far, ID);
  expect((await openRun(store, ID)).manifest()).toMatchObject({
    title: "My name",
    state: "finished",
    segments: [{ fromStep: 7, engine: "other" }],
  });
  const scored = (await readEvaluations(store, ID)).map(({ report }) => [report.step, report.means.loop1_greedy]);
  expect(scored.map(([step]) => step)).toEqual([0, 1, 3]);
  expect(scored[1]?.[1]).toBeCloseTo(0.5);
  expect(await store.size(`${ID}/metrics.csv`)).toBeNull();
});

it.each([1, 4])(
  "is completed by another try, whenever it is killed, with the other's last checkpoint of step %i",
  async (last) => {
    for (let whole = 0; ; whole++) {
      const { store } = await runOf(2);
      const { store: far } = await runOf(4);
      if (last !== 1) await writeCheckpoint(far, ID, state(last));
      const whenAlive = { ...store };
      killAfter(store, whole);
      const done = await takeOver(store, far, ID).then(
        () => true,
        () => false,
      );
      Object.assign(store, whenAlive);
      const run = await openRun(store, ID);
      if (!done && ((await run.readMetrics()).length < 4 || (await listCheckpoints(store, ID)).at(-1) !== last)) {
        await takeOver(store, far, ID);
      }
      expect(await run.groupSteps()).toEqual([1, 2, 3, 4]);
      expect(await run.readMetrics()).toHaveLength(4);
      expect((await listCheckpoints(store, ID)).at(-1)).toBe(last);
      if (done) return expect(whole).toBeGreaterThan(8);
    }
  },
);
