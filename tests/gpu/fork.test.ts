/** A fork equals its parent where nothing changes, and a stored checkpoint is scored as the run scored it. */
import { expect, it } from "vitest";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { readEvaluations } from "../../src/engine/runs/evaluations/evaluations.ts";
import type { StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import type { RunStore } from "../../src/engine/storage/store.ts";
import { startFork } from "../../src/plugins/fork/fork-calls.ts";
import { scoreCheckpoint } from "../../src/plugins/run-details/checkpoint-evaluation.ts";
import { openTestLab, readOnlyCopy, repeatable } from "../support/session.ts";

/**
 * Bytes depend on which of the kept tensors have been on the GPU yet: the start's weights are uploaded at their first
 * use.
 */
const numbers = (row: StepMetrics): StepMetrics =>
  Object.fromEntries(Object.entries(repeatable(row)).filter(([name]) => !name.startsWith("memory/gpu_bytes")));

it("continues as a fork like its parent, with other settings otherwise, and is evaluated at any checkpoint", async () => {
  const store = memoryStore();
  const lab = await openTestLab({ store });
  const evaluate = (id: string, step: number): Promise<void> => {
    const { signal } = new AbortController();
    const asked = { id, list: lab.list, step, onRows: () => undefined, signal };
    return lab.session.withLab("evaluation", (own) => scoreCheckpoint(own, asked));
  };
  const parent = await lab.start({ steps: 2, saveSteps: 1, saveTotalLimit: 2, evalRows: 3 });
  await parent.done;
  const id = parent.manifest.id;
  const fork = (title: string, changes: Partial<LabConfig> = {}, source?: RunStore) =>
    startFork(lab.session, id, lab.list, { step: 1, title, created: "2024-02-01T00:00:00.000Z", changes }, source);
  const same = await fork("same", { evalSteps: 2 }, await readOnlyCopy(store, id));
  expect(same).toMatchObject({ resumedAt: 1, manifest: { forkedFrom: { run: id, step: 1 } } });
  await same.done;
  const other = await fork("other", { learningRate: 0.01 });
  await other.done;
  const [one, two, three] = [
    await lab.metrics(id),
    await lab.metrics(same.manifest.id),
    await lab.metrics(other.manifest.id),
  ];
  expect(two.map(numbers)).toEqual(one.map(numbers));
  expect(three.map((row) => row.learning_rate)).not.toEqual(one.map((row) => row.learning_rate));
  expect(three[0]).toEqual(one[0]);
  await expect(fork("rank", { loraR: 8 })).rejects.toThrow(/A fork keeps LoRA rank r of its parent/);
  await expect(fork("rows", { rowFilter: "words:3.." })).rejects.toThrow(/A fork keeps Row filter of its parent/);
  expect(await store.list("rank-20240201000000")).toEqual([]);
  const likelihood = { likelihoodJudge: "adapter", loop2Likelihood: 1 } as const;
  await expect(fork("captioner", likelihood)).rejects.toThrow(/from another checkpoint, but none is open/);
  await evaluate(id, 2);
  const evaluations = await readEvaluations(store, id);
  expect(evaluations.map(({ report }) => report.step)).toEqual([0, 2]);
  // The fork ends with the same weights, and was evaluated where it started and as it ran.
  const own = await readEvaluations(store, same.manifest.id);
  expect(own.map(({ report }) => report.step)).toEqual([0, 1, 2]);
  expect([own[0], own[2]]).toEqual(evaluations);
  await evaluate(id, 1);
  const [start, middle, end] = await readEvaluations(store, id);
  expect([start, end]).toEqual(evaluations);
  expect(middle?.report).toMatchObject({ step: 1, baseline: 0, n: end?.report.n });
  expect((await openRun(store, id)).manifest().state).toBe("finished");
  await expect(evaluate(id, 7)).rejects.toThrow(/no complete checkpoint of step 7/);
});
