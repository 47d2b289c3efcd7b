/** Whatever is wrong with a file of a run's folder, reading it says so in a sentence, and other runs are not lost. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { checkFiles, readCheckpoint, writeCheckpoint } from "../../../src/engine/runs/checkpoint.ts";
import { readEvaluations, writeEvaluations } from "../../../src/engine/runs/evaluations.ts";
import { memoryStore } from "../../../src/engine/runs/memory-store.ts";
import { appendPhases, readPhases } from "../../../src/engine/runs/phase-lines.ts";
import { createRun, digestRun, listRuns, openRun } from "../../../src/engine/runs/run-folder.ts";
import { forAny } from "../../support/any.ts";
import { DAMAGES, damaged, fine } from "../../support/mutate.ts";
import { state } from "../runs/sample-checkpoint.ts";
import { evaluation } from "../runs/sample-evaluations.ts";
import { cost, group, manifest } from "../runs/sample-run.ts";

const [RUN, OTHER] = ["brave-otter", "calm-heron"];

it("a run with one damaged file", async () => {
  const whole = memoryStore();
  for (const id of [RUN, OTHER]) {
    const run = await createRun(whole, manifest(id));
    for (const step of [1, 2]) {
      await run.appendStep(step, { loss: 1 / step, "loop1/kl": Number.NaN });
      await run.appendGroups(step, [group(step, 1, 0), group(step, 2, 0)]);
    }
    await writeCheckpoint(whole, id, state(2));
    await appendPhases(whole, id, { step: 1, phases: { loss: cost, update: cost } });
    await writeEvaluations(whole, id, [evaluation(0, 0.25), evaluation(2, 0.5)]);
  }
  const files = new Map<string, Uint8Array>();
  for (const { path } of await whole.list("")) files.set(path, await whole.read(path));
  const own = [...files.keys()].filter((path) => path.startsWith(RUN));
  expect(own.length).toBeGreaterThan(8);
  await forAny(400, fc.tuple(fc.constantFrom(...own), DAMAGES), async ([which, damages]) => {
    const store = memoryStore();
    for (const [path, bytes] of files) await store.write(path, path === which ? damaged(bytes, damages) : bytes);
    expect((await listRuns(store)).runs.map(({ id }) => id)).toContain(OTHER);
    const run = await fine(() => openRun(store, RUN));
    if (run !== undefined) {
      await fine(() => run.readMetrics());
      await fine(() => run.groupSteps());
      await fine(() => run.readGroups(1));
      await fine(() => digestRun(run));
    }
    await fine(() => readPhases(store, RUN));
    await fine(() => readEvaluations(store, RUN));
    await fine(() => checkFiles(store, RUN, 2));
    await fine(() => readCheckpoint(store, RUN, 2));
    if (run !== undefined) await fine(() => run.truncateAfter(1));
  });
});
