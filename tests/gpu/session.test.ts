/** Pacing, stopping and failing: sessions whose run does not end normally. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { nodeFolder } from "../../scripts/lib/node/node-files.ts";
import { type ByteSource, folderOf } from "../../src/engine/bytes/source.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { Phase, TrainerEvent } from "../../src/engine/rl/run/events.ts";
import { listCheckpoints } from "../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import type { LoopId, StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import type { StartedRun } from "../../src/engine/session/session.ts";
import { useGpu as openGpu } from "../support/gpu.ts";
import {
  checkpointFiles,
  expectSameFiles,
  openTestLab,
  repeatable,
  type TestLab,
  untilPaused,
} from "../support/session.ts";
import { smallModel } from "../support/small-model.ts";

let lab: TestLab;
let baseline: number;
beforeAll(async () => {
  lab = await openTestLab();
  baseline = memorySnapshot().tensors;
});
afterEach(() => {
  lab.watch = () => undefined;
  lab.events.length = 0;
});

const phases = (events: readonly TrainerEvent[]): string[] =>
  events.flatMap((event) => (event.type === "phase" ? [`${event.step}:${event.loop ?? ""}:${event.phase}`] : []));

describe("pacing", () => {
  it("holds at a pause, continues by a phase, by a step and to the end, with the numbers of an undisturbed run", async () => {
    const plain = await lab.train();
    lab.events.length = 0;
    lab.watch = (event, session) => {
      if (event.type !== "phase") return;
      session.trainer?.control.pause();
      lab.watch = () => undefined;
    };
    const run = await lab.start();
    await untilPaused(lab);
    expect(phases(lab.events)).toEqual(["1:1:sample"]);
    await quiet();

    lab.session.trainer?.control.phase();
    await untilPaused(lab);
    expect(phases(lab.events)).toEqual(["1:1:sample", "1:1:features"]);

    lab.session.trainer?.control.step();
    await untilPaused(lab);
    expect(lab.events.filter((event) => event.type === "step")).toHaveLength(1);
    expect(lab.session.trainer?.step).toBe(1);
    await quiet();

    lab.session.trainer?.control.play();
    expect(await run.done).toBe("finished");
    const metrics = await lab.metrics(run.manifest.id);
    expect(metrics.map(repeatable)).toEqual(plain.map(repeatable));
  });
});

describe("a stop", () => {
  let whole: string;
  beforeAll(async () => {
    lab.watch = (event, session) => {
      if (event.type === "phase" && event.phase === "sample") session.trainer?.askCheckpoint();
    };
    const run = await lab.start();
    await run.done;
    whole = run.manifest.id;
    lab.watch = () => undefined;
  });

  // Before the update a stop drops the step; after it began, the step is finished first, or weights and average would
  // disagree.
  it.each<[Phase, LoopId | null, number]>([
    ["generate", 1, 1],
    ["partner", 2, 1],
    ["loss", 2, 1],
    ["update", null, 2],
    ["ema", null, 2],
    ["log", null, 2],
  ])("in the phase %s of loop %s of step 2 keeps a checkpoint of step %i", async (phase, loop, kept) => {
    lab.watch = (event, session) => {
      if (event.type === "phase" && event.step === 2 && event.phase === phase && event.loop === loop) {
        session.trainer?.control.stop();
      }
    };
    const run = await lab.start();
    expect(await run.done).toBe(kept === 2 ? "finished" : "stopped");
    const { id } = run.manifest;
    expect(await listCheckpoints(lab.store, id)).toEqual([kept]);
    expectSameFiles(await checkpointFiles(lab.store, id, kept), await checkpointFiles(lab.store, whole, kept));
    const folder = await openRun(lab.store, id);
    expect((await folder.readMetrics()).map((row) => row.step)).toEqual(kept === 2 ? [1, 2] : [1]);
    expect(await folder.groupSteps()).toEqual(kept === 2 ? [1, 2] : [1]);
    expect(folder.manifest().state).toBe(kept === 2 ? "finished" : "paused");
    expect(memorySnapshot().tensors, "tensors left behind").toBe(baseline);
  });

  it("while paused ends the run", async () => {
    lab.watch = (event, session) => {
      if (event.type === "phase") session.trainer?.control.pause();
      if (event.type === "state" && event.state === "paused") queueMicrotask(() => session.trainer?.control.stop());
    };
    const run = await lab.start();
    expect(await run.done).toBe("stopped");
    expect(await listCheckpoints(lab.store, run.manifest.id)).toEqual([]);
    expect(memorySnapshot().tensors).toBe(baseline);
  });
});

describe("a session", () => {
  it("does one thing at a time", async () => {
    const run = await lab.start({ steps: 1 });
    await expect(lab.start()).rejects.toThrow(/A run is in progress/);
    await expect(lab.resume(run.manifest.id)).rejects.toThrow(/A run is in progress/);
    const folder = await nodeFolder(smallModel());
    await expect(lab.session.openModel(folder, "other")).rejects.toThrow(/A run is in progress/);
    lab.session.trainer?.control.stop();
    expect(await run.done).toBe("stopped");
    expect(memorySnapshot().tensors).toBe(baseline);
  });

  it("leaves the device to a self-test, whose result later runs record", async () => {
    const found = { checks: 3, failed: ["Gradients"] };
    const tested = lab.session.selfTest(async () => {
      await expect(lab.start()).rejects.toThrow(/self-test is in progress/);
      return found;
    });
    await tested;
    const run = await lab.start({ steps: 1 });
    await expect(lab.session.selfTest(async () => found)).rejects.toThrow(/A run is in progress/);
    await run.done;
    expect((await openRun(lab.store, run.manifest.id)).manifest().selfTest).toEqual(found);
  });

  it("keeps its model when a folder is wrong, and frees it when another takes its place", async () => {
    const { model } = lab.session;
    const folder = await nodeFolder(smallModel());
    const lacking = folderOf(
      new Map(
        folder.paths.flatMap((path) => (path === "tokenizer.json" ? [] : [[path, folder.get(path) as ByteSource]])),
      ),
    );
    await expect(lab.session.openModel(lacking, "lacking")).rejects.toThrow(/tokenizer\.json/);
    expect(lab.session.model).toBe(model);
    expect(memorySnapshot().tensors).toBe(baseline);
    await lab.session.openModel(folder, "again");
    expect(lab.session.model?.name).toBe("again");
    expect(memorySnapshot().tensors).toBe(baseline);
  });
});

describe("a failure", () => {
  it("of the device in a step fails the run with one sentence and stores no step", async () => {
    const { device } = await openGpu();
    lab.watch = (event) => {
      if (event.type === "phase" && event.step === 2 && event.phase === "loss") {
        // No usage at all is invalid: the error is reported to the device alone.
        device.createBuffer({ size: 4, usage: 0 });
      }
    };
    const run = await lab.start();
    await expect(run.done).rejects.toMatchObject({ code: "gpu", message: expect.stringMatching(/^The GPU reported/) });
    const folder = await openRun(lab.store, run.manifest.id);
    expect(folder.manifest().state).toBe("failed");
    expect((await folder.readMetrics()).map((row) => row.step)).toEqual([1]);
    expect(await folder.groupSteps()).toEqual([1]);
    expect(lab.session.trainer).toBeUndefined();
    expect(memorySnapshot().tensors).toBe(baseline);
    // The device still works: the next run is unaffected.
    const [row] = await lab.train({ steps: 1 });
    expect(row?.["loop1/reward"]).toBeTypeOf("number");
  });

  it("leaves the session free for another run as soon as it is reported", async () => {
    const { device } = await openGpu();
    let next: Promise<StartedRun> | undefined;
    lab.watch = (event) => {
      if (event.type === "phase" && event.phase === "generate") device.createBuffer({ size: 4, usage: 0 });
      if (event.type !== "state" || event.state !== "failed") return;
      lab.watch = () => undefined;
      // Not before a message of a page could arrive.
      next = new Promise((resolve) => setImmediate(resolve)).then(() => lab.start({ steps: 1 }));
    };
    const run = await lab.start({ steps: 1 });
    await expect(run.done).rejects.toMatchObject({ code: "gpu" });
    expect(await (await next)?.done).toBe("finished");
  });
});

describe("a gradient that is not finite", () => {
  /** Starts with NaN in one published tensor. */
  async function withNan<T>(work: () => Promise<T>): Promise<T> {
    const base = lab.session.model?.base as Map<string, Tensor>;
    const [path, tensor] = [...base].find(([name]) => name.startsWith("mlp1.")) as [string, Tensor];
    const poisoned = tf.tensor(new Float32Array(tensor.size).fill(Number.NaN), tensor.shape);
    base.set(path, poisoned);
    try {
      return await work();
    } finally {
      base.set(path, tensor);
      poisoned.dispose();
    }
  }

  it("skips the step, counts it, rings, and changes nothing", async () => {
    const run = await withNan(async () => {
      const started = await lab.start({ steps: 1, loops: "2", entropyCoef: 0.1 });
      await started.done;
      return started;
    });
    const [row] = (await lab.metrics(run.manifest.id)) as [StepMetrics];
    expect(row.skipped_steps).toBe(1);
    expect(row.grad_norm).toBeNaN();
    const path = `${run.manifest.id}/checkpoints/step-000001/trainer_state.json`;
    const state = JSON.parse(await lab.store.readText(path)) as { sa2va_lab: { trainer: object } };
    expect(state.sa2va_lab.trainer).toEqual({ optimiserSteps: 0, skippedSteps: 1 });
    const alarms = lab.events.flatMap((event) => (event.type === "alarm" ? [event.alarm] : []));
    const [alarm] = alarms.filter(({ id }) => id === "skipped");
    expect(alarm?.message).toMatch(/^A gradient was not finite \(\S+.*\), so its update was skipped/);
    expect(alarm?.message).not.toMatch(/overflows/);
  });

  it("ends the run when set to, naming a tensor", async () => {
    await withNan(async () => {
      const started = await lab.start({ steps: 1, loops: "2", entropyCoef: 0.1, haltOnNan: true });
      await expect(started.done).rejects.toThrow(
        /^A gradient is not finite \(.+\); the weights before this step are kept/,
      );
      expect(await lab.metrics(started.manifest.id)).toEqual([]);
    });
    expect(memorySnapshot().tensors).toBe(baseline);
  });
});

/** Nothing happens for a while. */
async function quiet(): Promise<void> {
  const count = lab.events.length;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(lab.events).toHaveLength(count);
}
