/** Every run ends with a checkpoint, or with a sentence why there is none, and with complete evaluations. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { bestOf } from "../../src/engine/runs/checkpoint/best-checkpoint.ts";
import { listCheckpoints } from "../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import { readEvaluations } from "../../src/engine/runs/evaluations/evaluations.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { checkpointFiles, expectSameFiles, openTestLab, type TestLab } from "../support/session.ts";

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

const stateOf = async (id: string): Promise<string> => (await openRun(lab.store, id)).manifest().state;

/** Stops in the given phase of the given step. */
function stopAt(step: number, phase: string): void {
  lab.watch = (event, session) => {
    if (event.type === "phase" && event.step === step && event.phase === phase) session.trainer?.control.stop();
  };
}

describe("a gradient that is not finite", () => {
  const HALTING = { steps: 3, loops: "1", numIterations: 2, haltOnNan: true, saveTotalLimit: 3 } as const;

  /** Lets a frozen norm of the language model become NaN before the given loss phase of step 2. */
  async function poisoned(pass: number): Promise<{ readonly id: string; readonly failure: unknown }> {
    const frozen = lab.session.model?.frozen as Map<string, Tensor>;
    const [path, tensor] = [...frozen].find(([name]) => /^language_model\..*norm\.weight$/.test(name)) as [
      string,
      Tensor,
    ];
    const broken = tf.tensor(new Float32Array(tensor.size).fill(Number.NaN), tensor.shape);
    let seen = 0;
    lab.watch = (event) => {
      if (event.type !== "phase" || event.step !== 2 || event.phase !== "loss") return;
      seen++;
      if (seen === pass) frozen.set(path, broken);
    };
    try {
      const run = await lab.start(HALTING);
      const failure = await run.done.then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      return { id: run.manifest.id, failure };
    } finally {
      frozen.set(path, tensor);
      broken.dispose();
    }
  }

  it("in the first pass of a step leaves a checkpoint of the last whole step", async () => {
    lab.watch = (event, session) => {
      if (event.type === "phase" && event.step === 1 && event.phase === "sample") session.trainer?.askCheckpoint();
    };
    const whole = await lab.start(HALTING);
    expect(await whole.done).toBe("finished");
    const { id, failure } = await poisoned(1);
    expect(failure).toMatchObject({ message: expect.stringMatching(/the weights before this step are kept$/) });
    expect(await listCheckpoints(lab.store, id)).toEqual([1]);
    expectSameFiles(await checkpointFiles(lab.store, id, 1), await checkpointFiles(lab.store, whole.manifest.id, 1));
  });

  it("in a later pass leaves none of a part of a step, and says what is kept", async () => {
    const { id, failure } = await poisoned(2);
    expect(failure).toMatchObject({
      message: expect.stringMatching(/an earlier pass of this step .* not stored; the run has no checkpoint yet$/),
    });
    expect([await stateOf(id), await listCheckpoints(lab.store, id)]).toEqual(["failed", []]);
    expect(memorySnapshot().tensors).toBe(baseline);
  });
});

it("a stop within a step leaves the last whole step as it was, also what follows the entropy", async () => {
  const settings = { steps: 3, loops: "1", useAdaptiveEntropy: true, entropyTarget: 100, saveTotalLimit: 3 } as const;
  lab.watch = (event, session) => {
    if (event.type === "phase" && event.step === 1 && event.phase === "sample") session.trainer?.askCheckpoint();
  };
  const whole = await lab.start(settings);
  await whole.done;
  stopAt(2, "loss");
  const cut = await lab.start(settings);
  expect(await cut.done).toBe("stopped");
  expectSameFiles(
    await checkpointFiles(lab.store, cut.manifest.id, 1),
    await checkpointFiles(lab.store, whole.manifest.id, 1),
  );
});

describe("the evaluations of a run", () => {
  // A rate that breaks the model after the first step: the last checkpoint is not the best.
  const EVALUATED = {
    steps: 3,
    saveSteps: 1,
    saveTotalLimit: 1,
    evalSteps: 1,
    evalRows: 2,
    learningRate: 0.2,
  } as const;
  const stored = (id: string): Promise<string> => lab.store.readText(`${id}/eval.jsonl`);
  let whole: string;
  beforeAll(async () => {
    const run = await lab.start(EVALUATED);
    await run.done;
    whole = run.manifest.id;
  });

  it.each([1, 3])("are the same when it was stopped in the one of step %i and resumed", async (step) => {
    stopAt(step, "eval");
    const run = await lab.start(EVALUATED);
    expect(await run.done).toBe("stopped");
    const { id } = run.manifest;
    expect((await readEvaluations(lab.store, id)).map(({ report }) => report.step)).not.toContain(step);
    lab.watch = () => undefined;
    const resumed = await lab.resume(id);
    expect([resumed.resumedAt, await resumed.done]).toEqual([step, "finished"]);
    expect(await stored(id)).toBe(await stored(whole));
  });

  it("are the same when the device was lost in one, and none is repeated", async () => {
    let lost = false;
    lab.watch = (event, session) => {
      if (event.type !== "phase" || event.step !== 2 || event.phase !== "eval" || lost) return;
      lost = true;
      session.device.device.destroy();
    };
    const run = await lab.start(EVALUATED);
    expect(await run.done).toBe("finished");
    expect(lost).toBe(true);
    expect(await stored(run.manifest.id)).toBe(await stored(whole));
    const reports = lab.events.flatMap((event) => (event.type === "eval" ? [event.report.step] : []));
    expect(reports).toEqual([0, 1, 2, 3]);
  });

  it("choose the checkpoint that is kept beside the last", async () => {
    const best = bestOf(await readEvaluations(lab.store, whole), [1, 2, 3])?.step;
    expect(best).not.toBe(3);
    expect(await listCheckpoints(lab.store, whole)).toEqual([best, 3]);
    // Also for a resumed run.
    const longer = await lab.resume(whole, 4);
    expect(await longer.done).toBe("finished");
    const overall = bestOf(await readEvaluations(lab.store, whole), [1, 2, 3, 4])?.step as number;
    expect(await listCheckpoints(lab.store, whole)).toEqual([...new Set([overall, 4])]);
  });
});
