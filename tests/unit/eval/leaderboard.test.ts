/** Runs by a held-out score over the same rows. */
import { expect, test } from "vitest";
import { storeEvaluation } from "../../../src/engine/eval/report.ts";
import { readEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { listDigests } from "../../../src/engine/runs/library/digest.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import {
  type BoardAsked,
  BoardReader,
  boardColumns,
  leaderboards,
} from "../../../src/plugins/leaderboard/leaderboard.ts";
import { row, TERMS } from "../runs/sample-evaluations.ts";
import { manifest } from "../runs/sample-run.ts";

/** Rows of four pictures; the first has another value. */
const rows = (value: number, first = value, prefix = "r") => [
  ...[first, value, value, value].map((own, at) => row(`${prefix}${at}`, own, { imageId: `p${at}` })),
  row("s", 1, { part: "selection" }),
];

test("runs of the same rows stand together, by their score, with paired differences to their starts or to one of them", async () => {
  const store = memoryStore();
  const add = async (id: string, title: string, steps: readonly (readonly [number, ReturnType<typeof rows>])[]) => {
    await createRun(store, manifest(id, { title }));
    for (const [step, scored] of steps) await storeEvaluation(store, id, step, scored, TERMS);
  };
  await add("a", "A", [
    [0, rows(0.2)],
    [5, rows(0.3, 0.1)],
  ]);
  await add("b", "B", [[5, rows(0.6)]]);
  await add("c", "C", [
    [0, rows(0.1)],
    [5, rows(0.9, 0.9, "q")],
  ]);
  await add("none", "None", []);
  const reads: string[] = [];
  const reader = new BoardReader({
    ...store,
    readText: (path) => {
      reads.push(path);
      return store.readText(path);
    },
  });
  const read = async () => reader.read((await listDigests(store)).runs);
  const asked: BoardAsked = { score: "grounding_iou", at: "newest", base: null };
  const [same, other, ...more] = await leaderboards(await read(), asked);
  expect(more).toEqual([]);
  expect(same).toMatchObject({ rows: 4, pictures: 4 });
  expect(same?.lines).toMatchObject([
    { run: "b", title: "B", step: 5, mean: expect.closeTo(0.6, 12), difference: null },
    { run: "a", mean: expect.closeTo(0.25, 12), better: 3, worse: 1 },
  ]);
  // As the report of the evaluation has it.
  const difference = same?.lines[1]?.difference;
  const [, last] = await readEvaluations(store, "a");
  expect(difference).toEqual(last?.report.difference?.grounding_iou);
  // Its start was evaluated on other rows.
  expect(other?.lines).toMatchObject([{ run: "c", difference: null, better: 0 }]);

  const [against] = await leaderboards(await read(), { ...asked, base: "a" });
  expect(against?.lines[0]).toMatchObject({ run: "b", better: 4, worse: 0 });
  expect(against?.lines[0]?.difference).toMatchObject({ mean: expect.closeTo(0.35, 12) });
  expect(against?.lines[1]?.difference).toBeNull();
  expect(reads.filter((path) => path === "a/eval.jsonl")).toHaveLength(1);

  const columns = await boardColumns(await read(), asked, same?.hash ?? "");
  expect(columns.map(({ name }) => name).sort()).toEqual(["A step 5 grounding_iou", "B step 5 grounding_iou"]);
  const file = "a/run.json";
  await store.write(file, JSON.stringify({ ...JSON.parse(await store.readText(file)), title: "New" }));
  const renamed = await boardColumns(await read(), asked, same?.hash ?? "");
  expect(renamed.map(({ name }) => name).sort()).toEqual(["B step 5 grounding_iou", "New step 5 grounding_iou"]);
  // No run has a checkpoint.
  expect(await leaderboards(await read(), { ...asked, at: "best" })).toEqual([]);
});
