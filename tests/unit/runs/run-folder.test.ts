import { expect, test } from "vitest";
import { writeEvaluations } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { digestRun, NO_CURVE, readCurve, recentRewards } from "../../../src/engine/runs/library/digest.ts";
import { appendPhases, readPhases } from "../../../src/engine/runs/phase-lines.ts";
import { createRun, listRuns, openRun } from "../../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../../src/engine/storage/memory-store.ts";
import { killAfter } from "./killed-store.ts";
import { evaluation } from "./sample-evaluations.ts";
import { cost, group, manifest } from "./sample-run.ts";

test("metrics come back number for number, NaN and infinities included", async () => {
  const store = memoryStore();
  const run = await createRun(store, manifest());
  const rows = [
    { loss: 0.1 + 0.2, "loop1/kl": Number.NaN },
    { loss: Number.NEGATIVE_INFINITY, "loop2/reward": Number.POSITIVE_INFINITY, tiny: 5e-324 },
  ];
  await run.appendStep(1, rows[0] as Record<string, number>);
  await run.appendStep(2, rows[1] as Record<string, number>);
  const again = await openRun(store, "brave-otter");
  expect(await again.readMetrics()).toEqual(rows.map((row, n) => ({ step: n + 1, ...row })));
  const text = await store.readText("brave-otter/metrics.jsonl");
  expect(text.split("\n")[0]).toBe('{"step":1,"loss":0.30000000000000004,"loop1/kl":"NaN"}');
});

test("a line cut off by a crash is not read, a damaged one is named", async () => {
  const store = memoryStore();
  const run = await createRun(store, manifest());
  await run.appendStep(1, { loss: 1 });
  await store.append("brave-otter/metrics.jsonl", '{"step":2,"lo');
  expect(await run.readMetrics()).toEqual([{ step: 1, loss: 1 }]);
  await store.append("brave-otter/metrics.jsonl", "\n");
  await expect(run.readMetrics()).rejects.toThrow(/metrics\.jsonl line 2 is not valid JSON/);
});

test("rollouts of both loops share a step's file and come back exactly", async () => {
  const store = memoryStore();
  const run = await createRun(store, manifest());
  const first = [group(3, 1, 0), group(3, 1, 1)];
  const second = [group(3, 2, 0)];
  await run.appendGroups(3, first);
  await run.appendGroups(3, second);
  await run.appendGroups(3, second);
  expect(await run.groupSteps()).toEqual([3]);
  expect(await run.readGroups(3)).toEqual([...first, ...second]);
  expect(await store.size("brave-otter/rollouts/step-000003.arrow")).toBeGreaterThan(0);
  await expect(run.readGroups(4)).rejects.toMatchObject({ code: "storage" });
});

test("what phases cost comes back, and a line that a crash cut off does no harm", async () => {
  const store = memoryStore();
  await createRun(store, manifest());
  expect(await readPhases(store, "brave-otter")).toEqual([]);
  const lines = [
    { step: 1, phases: { generate: cost, loss: { ...cost, gpuSeconds: 0.125 } } },
    { step: 2, phases: {} },
  ];
  for (const line of lines) await appendPhases(store, "brave-otter", line);
  await store.append("brave-otter/phases.jsonl", '{"step":3,"pha');
  expect(await readPhases(store, "brave-otter")).toEqual(lines);
  const text = await store.readText("brave-otter/phases.jsonl");
  expect(text.split("\n")[0]).toContain('"gpu_seconds":null,"dispatches":12');
  // Runs of before counted neither programs nor peaks.
  await store.write("brave-otter/phases.jsonl", text.replaceAll(',"programs":5,"peak_bytes":5000', ""));
  const [first] = await readPhases(store, "brave-otter");
  expect(first?.phases.generate).toEqual({ ...cost, programs: null, peakBytes: null });
});

/** A run of so many steps, each with a checkpoint. */
async function steps(count: number) {
  const store = memoryStore();
  const run = await createRun(store, manifest());
  for (let step = 1; step <= count; step++) {
    await run.appendStep(step, { loss: step });
    await run.appendGroups(step, [group(step, 1, 0)]);
    await store.write(`brave-otter/checkpoints/step-00000${step}/complete.json`, "{}");
    await appendPhases(store, "brave-otter", { step, phases: { loss: cost } });
  }
  return { store, run };
}

test("a resume drops metrics, rollouts and checkpoints past its step and nothing else", async () => {
  const { store, run } = await steps(5);
  await store.append("brave-otter/metrics.jsonl", '{"step":6,"lo');
  await run.truncateAfter(3);
  await run.appendStep(4, { loss: 40 });
  expect((await run.readMetrics()).map((row) => row.loss)).toEqual([1, 2, 3, 40]);
  expect(await run.groupSteps()).toEqual([1, 2, 3]);
  expect((await readPhases(store, "brave-otter")).map(({ step }) => step)).toEqual([1, 2, 3]);
  expect((await digestRun(run)).checkpoints).toEqual([1, 2, 3]);
});

test("a run that is killed while it is cut back has no checkpoint past its step, whenever that happens", async () => {
  for (let whole = 0; whole < 8; whole++) {
    const { store, run } = await steps(3);
    killAfter(store, whole);
    await run.truncateAfter(1).catch(() => undefined);
    const { checkpoints } = await digestRun(run);
    // What a resume would continue is there as a whole.
    const logged = (await run.readMetrics()).map(({ step }) => step);
    const length = Math.max(checkpoints.at(-1) ?? 0, logged.length);
    expect(logged).toEqual(Array.from({ length }, (_, at) => at + 1));
  }
});

test("what another version wrote in a run stays when the run is changed and resumed", async () => {
  const { store, run } = await steps(3);
  const at = (name: string): string => `brave-otter/${name}`;
  const edit = async (name: string, change: (value: Record<string, object>) => object): Promise<void> =>
    store.write(at(name), JSON.stringify(change(JSON.parse(await store.readText(at(name))))));
  await edit("run.json", (value) => ({ ...value, config: { ...value.config, laterSetting: 3 } }));
  const line = (step: number): string => `{"step":${step},"loss":1.50,"engine":"other","parts":{"a":[1]}}`;
  await store.write(at("metrics.jsonl"), `${line(1)}\n${line(2)}\n${line(3)}\n`);
  const phases = (await store.readText(at("phases.jsonl"))).replaceAll('"step":', '"host":"far","step":');
  await store.write(at("phases.jsonl"), phases);
  const scored = { ...evaluation(1, 0.5), engine: "other" };
  await writeEvaluations(store, "brave-otter", [scored, evaluation(3, 0.5)]);

  await run.truncateAfter(2);
  await run.update({ title: "Other", config: { ...run.manifest().config, steps: 77 } });
  expect(await store.readText(at("metrics.jsonl"))).toBe(`${line(1)}\n${line(2)}\n`);
  expect(await store.readText(at("phases.jsonl"))).toBe(phases.split("\n").slice(0, 2).join("\n").concat("\n"));
  expect(JSON.parse(await store.readText(at("eval.jsonl")))).toEqual(JSON.parse(JSON.stringify(scored)));
  const { config, title } = JSON.parse(await store.readText(at("run.json")));
  expect([title, config.steps, config.laterSetting]).toEqual(["Other", 77, 3]);
  expect((await openRun(store, "brave-otter")).manifest().config).not.toHaveProperty("laterSetting");
});

test("a resume that a damaged file prevents removes nothing", async () => {
  for (const name of ["metrics.jsonl", "eval.jsonl", "alarms.jsonl"]) {
    const { store, run } = await steps(3);
    await store.write(`brave-otter/${name}`, '{"report":\n');
    const before = await store.list("");
    await expect(run.truncateAfter(1), name).rejects.toThrow(name);
    expect(await store.list(""), name).toEqual(before);
  }
});

test("the list shows newest runs first and names damaged ones", async () => {
  const store = memoryStore();
  await createRun(store, manifest("old", { created: "2025-01-01T00:00:00.000Z" }));
  const run = await createRun(store, manifest("new"));
  await store.write("broken/run.json", "{");
  await store.write("torn/metrics.jsonl", "");
  await run.update({ title: "Named", state: "finished" });
  const listed = await listRuns(store);
  expect(listed.runs.map((found) => [found.id, found.title, found.state])).toEqual([
    ["new", "Named", "finished"],
    ["old", "Brave otter", "running"],
  ]);
  expect(listed.damaged).toEqual(["broken", "torn"]);
  await expect(openRun(store, "broken")).rejects.toThrow(/broken\/run\.json is not valid JSON/);
  await store.write("later/run.json", '{"format":"sa2va-lab-run/2"}');
  await expect(openRun(store, "later")).rejects.toThrow(
    "later/run.json is not a run that this version reads: a newer version of the lab wrote it; the run's files are kept",
  );
  await store.write("other/run.json", '{"format":"another"}');
  await expect(openRun(store, "other")).rejects.toThrow(
    /other\/run\.json is not a run that this version reads: "format"/,
  );
  await expect(createRun(store, manifest("new"))).rejects.toMatchObject({ code: "storage" });
  await expect(createRun(store, manifest("../x"))).rejects.toMatchObject({ code: "storage" });
});

test("the digest averages the last ten rewards that are numbers", async () => {
  const run = await createRun(memoryStore(), manifest());
  for (let step = 1; step <= 12; step++) {
    await run.appendStep(step, { "loop1/reward": step === 12 ? Number.NaN : step });
  }
  const digest = await digestRun(run);
  expect(digest.steps).toBe(12);
  expect(digest.rewards).toEqual({ 1: (3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11) / 9 });
  expect(digest.curve.map((point) => point[1])).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, undefined]);
  expect(digest.bytes).toBeGreaterThan(300);
});

test("a curve is read from its last position on, and again where its file was cut and has grown", async () => {
  const store = memoryStore();
  const path = "run/metrics.jsonl";
  const lines = (from: number, to: number, reward: number): string =>
    Array.from(
      { length: to - from },
      (_, at) => `{"step":${from + at + 1},"loop1/reward":${reward},"step_time":2}\n`,
    ).join("");
  // A character of three bytes at a cut, and a last line that a crash truncated.
  await store.append(path, `${lines(0, 70, 1)}{"step":71,"note":"€`);
  const first = await readCurve(store, path, NO_CURVE);
  expect(first).toMatchObject({ lines: 70, step: 70, seconds: 140, stride: 2 });
  expect(first.points).toHaveLength(35);
  expect(await readCurve(store, path, first)).toBe(first);
  await store.append(path, `"}\n${lines(71, 100, 3)}`);
  const grown = await readCurve(store, path, first);
  expect(grown).toEqual(await readCurve(store, path, NO_CURVE));
  expect(grown).toMatchObject({ lines: 100, step: 100, seconds: 198 });
  await store.write(path, lines(0, 200, 5));
  expect(recentRewards(await readCurve(store, path, grown))).toEqual({ 1: 5 });
  await store.append(path, "no JSON\n");
  await expect(readCurve(store, path, grown)).rejects.toThrow(/run\/metrics\.jsonl, line 201/);
});
