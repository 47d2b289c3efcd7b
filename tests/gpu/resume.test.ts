/** A stopped and resumed run equals the undisturbed one. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LabError } from "../../src/engine/errors.ts";
import { checkpointPath } from "../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import type { StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import { checkpointFiles, expectSameFiles, openTestLab, repeatable, type TestLab } from "../support/session.ts";

const STEPS = 3;
const CUT = 2;

/**
 * Bytes depend on which of the kept tensors have been on the GPU yet: the start's weights are uploaded at their first
 * use.
 */
const numbers = (row: StepMetrics): StepMetrics =>
  Object.fromEntries(Object.entries(repeatable(row)).filter(([name]) => !name.startsWith("memory/gpu_bytes")));

describe("a state with more parts", () => {
  it("comes back: synchronised reference, entropy bonus, several updates on one set of rollouts, mix, curriculum, dynamic sampling", async () => {
    const store = memoryStore();
    const lab = await openTestLab({ store });
    const [steps, cutAt] = [2, 1];
    const parts = {
      steps,
      saveSteps: 1,
      beta: 0.5,
      numIterations: 2,
      stepsPerGeneration: 2,
      syncRefModel: true,
      refModelSyncSteps: 3,
      useAdaptiveEntropy: true,
      entropyTarget: 100,
      entropyCoefDelta: 0.01,
      topEntropyQuantile: 0.5,
      mixSources: "data-00000 = 1.5, * = 0.5",
      lengthGrouping: true,
      curriculum: "easy",
      curriculumSteps: 2,
      zeroSpreadRows: "skip",
      resampleRounds: 2,
      temperature: 0.1,
    } as const;
    const run = await lab.start(parts);
    await run.done;
    const whole = await checkpointFiles(store, run.manifest.id, steps);
    expect([...whole.keys()]).toContain("reference.safetensors");
    const rows = await lab.metrics(run.manifest.id);
    // Four updates a step, each raising the bonus.
    expect(rows.map((row) => row["loop1/entropy_coef"])).toEqual(
      [0.025, 0.065].map((value) => expect.closeTo(value, 12)),
    );
    const numbered = (name: string): number[] => rows.flatMap((row) => row[`loop1/${name}`] ?? []);
    expect(numbered("resampled_groups").some((groups) => groups > 0)).toBe(true);
    const drawn = [...numbered("source_groups/data-00000"), ...numbered("source_groups/*")];
    expect(drawn.reduce((sum, groups) => sum + groups, 0)).toBe(2 * steps);
    lab.watch = (event, session) => {
      if (event.type === "step" && event.step === cutAt) session.trainer?.control.stop();
    };
    const cut = await lab.start(parts);
    expect(await cut.done).toBe("stopped");
    lab.session.dispose();
    const second = await openTestLab({ store });
    const resumed = await second.resume(cut.manifest.id);
    await resumed.done;
    expectSameFiles(await checkpointFiles(store, cut.manifest.id, steps), whole);
    const [one, two] = [await second.metrics(run.manifest.id), await second.metrics(cut.manifest.id)];
    expect(two.map(numbers)).toEqual(one.map(numbers));
    second.session.dispose();
  });
});

describe("three steps, and two and one in a fresh session", () => {
  const store = memoryStore();
  let whole: string;
  let halves: string;
  let second: TestLab;

  beforeAll(async () => {
    const first = await openTestLab({ store });
    const settings = { steps: STEPS, rowFilter: "area:..0.07" };
    const run = await first.start(settings);
    await run.done;
    whole = run.manifest.id;
    first.watch = (event, session) => {
      if (event.type === "step" && event.step === CUT) session.trainer?.control.stop();
    };
    const cut = await first.start(settings);
    expect(await cut.done).toBe("stopped");
    halves = cut.manifest.id;
    first.session.dispose();

    second = await openTestLab({ store });
    const resumed = await second.resume(halves);
    expect(resumed.resumedAt).toBe(CUT);
    expect(await resumed.done).toBe("finished");
  });
  afterAll(() => second.session.dispose());

  it("end with the same weights, averages, moments and counters, bit for bit", async () => {
    const expected = await checkpointFiles(store, whole, STEPS);
    expect([...expected.keys()]).toEqual(
      expect.arrayContaining([
        "adapter_model.safetensors",
        "ema.safetensors",
        "modules.safetensors",
        "optimizer.safetensors",
        "trainer_state.json",
      ]),
    );
    expectSameFiles(await checkpointFiles(store, halves, STEPS), expected);
  });

  it("log the same metrics", async () => {
    const [one, two] = [await second.metrics(whole), await second.metrics(halves)];
    expect(two.map((row) => row.step)).toEqual([1, 2, 3]);
    expect(two.map(numbers)).toEqual(one.map(numbers));
  });

  it("store the same rollouts", async () => {
    const [one, two] = [await openRun(store, whole), await openRun(store, halves)];
    expect(await two.groupSteps()).toEqual([1, 2, 3]);
    for (const step of await one.groupSteps()) expect(await two.readGroups(step)).toEqual(await one.readGroups(step));
  });

  it("are the run of all steps also where only the first half was asked for at first", async () => {
    const fixed = { lrSchedulerType: "constant", warmupSteps: 0 } as const;
    const straight = await second.start({ ...fixed, steps: STEPS });
    await straight.done;
    const short = await second.start({ ...fixed, steps: CUT });
    expect(await short.done).toBe("finished");
    const id = short.manifest.id;
    await expect(second.resume(id, CUT - 1)).rejects.toThrow(/already has 2 steps; set steps to a larger number/);
    await expect(second.resume(id, 2.5)).rejects.toThrow(/steps must be/);
    const longer = await second.resume(id, STEPS);
    expect(longer).toMatchObject({ resumedAt: CUT, manifest: { config: { steps: STEPS } } });
    expect(await longer.done).toBe("finished");
    expectSameFiles(await checkpointFiles(store, id, STEPS), await checkpointFiles(store, straight.manifest.id, STEPS));
    const [one, two] = [await second.metrics(straight.manifest.id), await second.metrics(id)];
    expect(two.map(numbers)).toEqual(one.map(numbers));
    const { state, lengths } = (await openRun(store, id)).manifest();
    expect({ state, lengths }).toEqual({
      state: "finished",
      lengths: [{ afterStep: CUT, from: CUT, to: STEPS }],
    });
  });

  it("continue from an earlier checkpoint, and compute what came after it again", async () => {
    const run = await second.start({ steps: 2, saveSteps: 1, saveTotalLimit: 2 });
    await run.done;
    const { id } = run.manifest;
    const one = await second.metrics(id);
    const restored = await second.session.resume(id, second.list, undefined, 1);
    expect(restored.resumedAt).toBe(1);
    await restored.done;
    expect((await second.metrics(id)).map(numbers)).toEqual(one.map(numbers));
    await expect(second.session.resume(id, second.list, undefined, 7)).rejects.toThrow(
      /no complete checkpoint of step 7/,
    );
  });

  it("drop what a crash left past the newest checkpoint", async () => {
    const run = await openRun(store, halves);
    await run.appendStep(STEPS + 1, { "loop1/reward": 9 });
    const resumed = await second.resume(halves);
    expect(await resumed.done).toBe("finished");
    expect((await second.metrics(halves)).map((row) => row.step)).toEqual([1, 2, 3]);
  });

  it("continue from the checkpoint before where the newest is damaged, and say so", async () => {
    const run = await second.start({ steps: 2, saveSteps: 1, saveTotalLimit: 2 });
    await run.done;
    const path = `${checkpointPath(run.manifest.id, 2)}/optimizer.safetensors`;
    const bytes = await store.read(path);
    bytes[bytes.length - 1] = 0x7f;
    bytes[bytes.length - 2] = 0xc0;
    await store.write(path, bytes);
    const resumed = await second.resume(run.manifest.id);
    expect(resumed.resumedAt).toBe(1);
    expect(await resumed.done).toBe("finished");
    const alarms = second.events.flatMap((event) => (event.type === "alarm" ? [event.alarm] : []));
    expect(alarms.filter(({ id }) => id === "checkpoint-damaged").map(({ message }) => message)).toEqual([
      `The checkpoint of step 2 cannot be used (${path} does not have the contents that were written; resume from another checkpoint; nothing was changed); the run continues from step 1`,
    ]);
    expect((await second.metrics(run.manifest.id)).map((row) => row.step)).toEqual([1, 2]);
  });

  it("have no gap where a step was stored in part", async () => {
    let broken = false;
    const append = store.append.bind(store);
    store.append = async (path, content) => {
      if (!broken && path.endsWith("metrics.jsonl") && String(content).startsWith('{"step":2')) {
        broken = true;
        throw new LabError("storage", "The tab was closed");
      }
      return append(path, content);
    };
    const run = await second.start({ steps: 2, saveSteps: 1 });
    await expect(run.done).rejects.toThrow("The tab was closed");
    store.append = append;
    const resumed = await second.resume(run.manifest.id);
    expect(resumed.resumedAt).toBe(1);
    await resumed.done;
    expect((await second.metrics(run.manifest.id)).map((row) => row.step)).toEqual([1, 2]);
  });

  it("are refused over other rows, without a checkpoint, and under an unknown name", async () => {
    const list = { dataSet: "other", rows: [["a", "a"] as const] };
    await expect(second.session.resume(halves, list)).rejects.toThrow(/uses the rows of shards; other has other rows/);
    await expect(second.resume("nothing")).rejects.toThrow(/nothing/);
    second.watch = (event, session) => {
      if (event.type === "phase") session.trainer?.control.stop();
    };
    const empty = await second.start({ steps: 1 });
    expect(await empty.done).toBe("stopped");
    await expect(second.resume(empty.manifest.id)).rejects.toThrow(/has no complete checkpoint to resume from/);
    expect(second.session.trainer).toBeUndefined();
  });
});
