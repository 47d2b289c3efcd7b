/** A run's folder beside another one: lists, curves, rollouts, evaluations, costs, and truncation for a resume. */
import fc from "fast-check";
import { SETTINGS } from "../../../src/engine/config/table.ts";
import { readEvaluations, writeEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { digestRun } from "../../../src/engine/runs/library/digest.ts";
import { runLibrary } from "../../../src/engine/runs/library/library.ts";
import { appendPhases, readPhases } from "../../../src/engine/runs/phase-lines.ts";
import { createRun, listRuns, openRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { evaluation } from "../../unit/runs/sample-evaluations.ts";
import { cost, group, manifest } from "../../unit/runs/sample-run.ts";
import { ARROW_DAMAGE } from "../arrow-stream.ts";
import { casesOf } from "../cases.ts";
import { jsonDamage, LINE_DAMAGE } from "../json.ts";
import { check, type Target } from "../target.ts";
import { intoStore, storeFiles } from "../valid.ts";
import { checkGroups } from "./rollouts.ts";
import { checkConfig } from "./settings.ts";

const [RUN, OTHER] = ["brave-otter", "calm-heron"];
const whole = memoryStore();
for (const id of [RUN, OTHER]) {
  const folder = await createRun(whole, manifest(id));
  for (const step of [1, 2]) {
    await folder.appendStep(step, { loss: 1 / step, "loop1/kl": Number.NaN, "loop1/reward": 0.5 });
    await folder.appendGroups(step, [group(step, 1, 0), group(step, 2, 0)]);
  }
  await appendPhases(whole, id, { step: 1, phases: { loss: cost, update: cost } });
  await writeEvaluations(whole, id, [evaluation(0, 0.25), evaluation(2, 0.5)]);
}
const others = await storeFiles(whole, OTHER);
check(Object.keys(SETTINGS).length > 0, "no settings");

export const run: Target = {
  ...casesOf({ run: await storeFiles(whole, RUN) }, (path) =>
    path.endsWith(".arrow")
      ? ARROW_DAMAGE
      : path.endsWith(".json")
        ? jsonDamage()
        : fc.oneof(LINE_DAMAGE, jsonDamage()),
  ),
  async read(files) {
    const store = memoryStore();
    await intoStore(store, { ...others, ...files });
    const listed = await listRuns(store);
    check(
      listed.runs.some(({ id }) => id === OTHER),
      "the other run is not listed",
    );
    const library = await runLibrary(store).list();
    check(
      library.runs.some(({ manifest: { id } }) => id === OTHER),
      "the other run is not in the library",
    );
    for (const { step, phases } of await readPhases(store, RUN)) {
      check(Number.isSafeInteger(step) && step >= 0, `costs of step ${step}`);
      for (const [name, { seconds }] of Object.entries(phases)) check(seconds >= 0, `${name} took ${seconds} s`);
    }
    for (const { report, rows } of await readEvaluations(store, RUN)) {
      check(report.step >= 0, `an evaluation of step ${report.step}`);
      check(report.n >= 0 && report.n <= rows.length, `an evaluation of ${String(report.n)} rows with ${rows.length}`);
    }
    const folder = await openRun(store, RUN);
    checkConfig(folder.manifest().config);
    let before = -1;
    for (const { step, ...metrics } of await folder.readMetrics()) {
      check(Number.isSafeInteger(step) && (step as number) >= 0, `metrics of step ${String(step)}`);
      check((step as number) > before, `step ${step} after step ${before}`);
      before = step as number;
      check(
        Object.values(metrics).every((value) => typeof value === "number"),
        "a metric that is no number",
      );
    }
    const { steps, rewards } = await digestRun(folder);
    check(Number.isSafeInteger(steps) && Object.values(rewards).every(Number.isFinite), "a digest without numbers");
    for (const step of await folder.groupSteps()) checkGroups(await folder.readGroups(step));
    await folder.truncateAfter(1);
    check(
      (await folder.readMetrics()).every((row) => (row.step as number) <= 1),
      "metrics past the end",
    );
  },
};
