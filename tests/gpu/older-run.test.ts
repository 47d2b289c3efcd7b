/** A run of a version without split seed, selection rows and stored alarms continues with its original rows. */
import { beforeAll, expect, it } from "vitest";
import { readAlarms } from "../../src/engine/runs/alarms.ts";
import { readEvaluations, type StoredEvaluation } from "../../src/engine/runs/evaluations/evaluations.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { openTestLab, type TestLab } from "../support/session.ts";

let lab: TestLab;
beforeAll(async () => {
  lab = await openTestLab();
});

const SETTINGS = { seed: 5, saveSteps: 1, evalSteps: 1, evalRows: 4, promptsPerStep: 2 } as const;

/** Writes the run's files as the older version did. */
async function makeOlder(id: string): Promise<void> {
  const { store } = lab;
  const manifest = JSON.parse(await store.readText(`${id}/run.json`)) as { config: Record<string, unknown> };
  for (const key of ["splitSeed", "selectionShare", "bestMetric", "evalJudge"]) delete manifest.config[key];
  await store.write(`${id}/run.json`, JSON.stringify(manifest));
  const older = (await readEvaluations(store, id)).map(({ report, rows }) => {
    const { reward: _, selection: __, maskPolicy: ___, baseline: ____, ...kept } = report;
    return { report: kept, rows: rows.map(({ part: _part, rewards: _rewards, imageId: _image, ...own }) => own) };
  });
  await store.write(`${id}/eval.jsonl`, older.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await store.remove(`${id}/alarms.jsonl`);
}

const drawn = async (id: string): Promise<readonly string[]> =>
  (await (await openRun(lab.store, id)).readGroups(2)).map(({ rowId }) => rowId);

it("draws the same rows as one that was never interrupted", async () => {
  const whole = await lab.start({ ...SETTINGS, splitSeed: 5, steps: 2 });
  await whole.done;
  const other = await lab.start({ ...SETTINGS, splitSeed: 1, steps: 2 });
  await other.done;
  const run = await lab.start({ ...SETTINGS, splitSeed: 5, steps: 1 });
  await run.done;
  const { id } = run.manifest;
  await makeOlder(id);
  expect((await openRun(lab.store, id)).manifest().config.splitSeed).toBe(5);
  expect(await readAlarms(lab.store, id)).toBeNull();
  const resumed = await lab.resume(id, 2);
  expect(await resumed.done).toBe("finished");
  expect(await drawn(id)).toEqual(await drawn(whole.manifest.id));
  expect(await drawn(id)).not.toEqual(await drawn(other.manifest.id));
  // Its held-out rows now have two parts; earlier scores over undivided rows are kept but not compared.
  const all = await readEvaluations(lab.store, id);
  expect(all.map(({ report }) => [report.step, report.selection?.metric])).toEqual([
    [0, undefined],
    [1, undefined],
    [2, "reward"],
  ]);
  const last = all.at(-1) as StoredEvaluation;
  expect(last.report.difference).toBeNull();
  const expected = (await readEvaluations(lab.store, whole.manifest.id)).at(-1) as StoredEvaluation;
  expect(last.rows.map(({ rowId, part }) => [rowId, part])).toEqual(
    expected.rows.map(({ rowId, part }) => [rowId, part]),
  );
});
