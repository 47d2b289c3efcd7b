/** The judge as a run folder records it, over resumes and returns to checkpoints. */
import { beforeEach, expect, it } from "vitest";
import type { JudgeDescription } from "../../../src/engine/rewards/judge/description.ts";
import { judgeRecord } from "../../../src/engine/rl/run/run-judge.ts";
import { createRun, type RunFolder } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { manifest } from "../runs/sample-run.ts";

const judge = (changes: Partial<JudgeDescription> = {}) =>
  ({
    instrument: "questions",
    place: "https://one.test/v1",
    model: "reader",
    temperature: 0,
    range: "raw",
    version: "0123",
    prompts: { questions: "", answers: "", dlc: "" },
    ...changes,
  }) as unknown as JudgeDescription;

let run: RunFolder;
beforeEach(async () => {
  run = await createRun(memoryStore(), manifest());
});
const stored = async () =>
  (JSON.parse(await run.store.readText(`${run.id}/judge.json`)) as { fromStep: number; model: string }[]).map(
    ({ fromStep, model }) => [fromStep, model],
  );

/** Writes it. @returns its text about a change */
async function recorded(description: JudgeDescription, doneSteps: number): Promise<string | null> {
  const record = await judgeRecord(run, description, doneSteps);
  await record.store();
  return record.change;
}

it("is told to be another one once it is", async () => {
  expect(await recorded(judge(), 0)).toBeNull();
  expect(await recorded(judge({ place: "https://two.test/v1" }), 2)).toBeNull();
  expect(await recorded(judge({ model: "other" }), 4)).toMatch(/^From step 5 the judge is "other", .* "reader"/);
  expect(await stored()).toEqual([
    [1, "reader"],
    [5, "other"],
  ]);
});

it("is that of the step that a run goes back to", async () => {
  await recorded(judge(), 0);
  await recorded(judge({ model: "other" }), 4);
  expect(await recorded(judge(), 2)).toBeNull();
  expect(await stored()).toEqual([[1, "reader"]]);
  await recorded(judge({ model: "other" }), 4);
  expect(await recorded(judge({ model: "other" }), 3)).toMatch(/^From step 4 the judge is "other"/);
});

it("without a name is another one on another server", async () => {
  await recorded(judge({ model: "default" }), 0);
  expect(await recorded(judge({ model: "default" }), 2)).toBeNull();
  expect(await recorded(judge({ model: "default", place: "https://two.test/v1" }), 2)).not.toBeNull();
});
