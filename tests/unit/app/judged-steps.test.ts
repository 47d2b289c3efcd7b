import { expect, test } from "vitest";
import { readOnce } from "../../../src/app/stores/reads.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { createRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { finishedSteps, readSteps } from "../../../src/plugins/judge-workshop/judged-steps.ts";
import { group, manifest } from "../runs/sample-run.ts";

test("a step in progress has no file yet and is not read", () => {
  expect(finishedSteps([1, 2, 3], 2)).toEqual([1, 2]);
  expect(finishedSteps([1], 0)).toEqual([]);
  expect(finishedSteps([1, 5, 10], null)).toEqual([1, 5, 10]);
  const many = Array.from({ length: 40 }, (_, at) => at + 1);
  expect(finishedSteps(many, 39)).toEqual(many.slice(15, 39));
});

test("an unreadable step is named and the others are there, each read once", async () => {
  const run = await createRun(memoryStore(), manifest());
  for (const step of [1, 3]) await run.appendGroups(step, [group(step, 1, 0)]);
  const asked: number[] = [];
  const groups = (step: number) => ({
    key: `groups of ${step} `,
    read: () => {
      asked.push(step);
      return run.readGroups(step);
    },
  });
  const { signal } = new AbortController();
  const read = () => readSteps((step) => readOnce(groups(step)), [1, 2, 3], signal);
  const found = await read();
  expect(found?.groups.map(({ step }) => step)).toEqual([1, 3]);
  expect(found?.unread).toHaveLength(1);
  expect(found?.unread[0]).toMatch(/^Step 2 is skipped because it cannot be read: .*step-000002\.arrow/);
  // What could not be read is tried again, for its file may have been written since.
  await run.appendGroups(2, [group(2, 1, 0)]);
  expect(await read()).toMatchObject({ unread: [] });
  expect(asked).toEqual([1, 2, 3, 2]);
});

test("a reading that is no longer wanted ends and yields nothing", async () => {
  const stop = new AbortController();
  const asked: number[] = [];
  const read = async (step: number) => {
    asked.push(step);
    stop.abort();
    if (step === 1) throw new LabError("storage", "gone");
    return [];
  };
  expect(await readSteps(read, [1, 2], stop.signal)).toBeNull();
  expect(asked).toEqual([1]);
});
