/** Every run ends: with a checkpoint or a sentence why there is none, and with nothing left out of its evaluations. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { readAlarms } from "../../src/engine/runs/alarms.ts";
import { bestOf } from "../../src/engine/runs/checkpoint/best-checkpoint.ts";
import { listCheckpoints } from "../../src/engine/runs/checkpoint/checkpoint-folder.ts";
import { readEvaluations } from "../../src/engine/runs/evaluations/evaluations.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { memoryStore } from "../../src/engine/storage/memory-store.ts";
import { quotaError } from "../../src/engine/storage/store.ts";
import { checkpointFiles, expectSameFiles, openTestLab, type TestLab } from "../support/session.ts";

let full = false;
let lab: TestLab;
let baseline: number;
beforeAll(async () => {
  const store = memoryStore();
  const write = store.write.bind(store);
  // The last file of a checkpoint is the one that does not fit.
  store.write = async (path, content) => {
    if (full && path.endsWith("complete.json")) throw quotaError(path, 1000, 10);
    return write(path, content);
  };
  lab = await openTestLab({ store });
  baseline = memorySnapshot().tensors;
});
afterEach(() => {
  full = false;
  lab.watch = () => undefined;
  lab.events.length = 0;
});

const stateOf = async (id: string): Promise<string> => (await openRun(lab.store, id)).manifest().state;
const told = (): readonly string[] => lab.events.flatMap((event) => (event.type === "state" ? [event.state] : []));

/** Stops in the given phase of the given step. */
function stopAt(step: number, phase: string): void {
  lab.watch = (event, session) => {
    if (event.type === "phase" && event.step === step && event.phase === phase) session.trainer?.control.stop();
  };
}

describe("a checkpoint for which there is no room", () => {
  it("ends a stopped run as failed, with a sentence, and the next run can begin", async () => {
    stopAt(2, "sample");
    full = true;
    const run = await lab.start();
    await expect(run.done).rejects.toMatchObject({
      code: "storage",
      message: expect.stringMatching(
        /^The run was stopped, but it could not be stored: .*complete\.json needs .*; the run has no checkpoint yet$/,
      ),
    });
    expect(told().at(-1)).toBe("failed");
    const { id } = run.manifest;
    expect(await stateOf(id)).toBe("failed");
    // Half a checkpoint does not stay in the way.
    expect(await lab.store.list(`${id}/checkpoints`)).toEqual([]);
    expect(lab.session.trainer).toBeUndefined();
    expect(memorySnapshot().tensors).toBe(baseline);
    full = false;
    lab.watch = () => undefined;
    expect(await lab.train({ steps: 1 })).toHaveLength(1);
  });

  it("names what is kept, from which the run goes on", async () => {
    lab.watch = (event, session) => {
      if (event.type === "checkpoint") full = true;
      if (event.type === "held") session.trainer?.control.stop();
    };
    const run = await lab.start({ steps: 3, saveSteps: 1, keepCheckpoints: 3 });
    await expect(run.done).rejects.toThrow(/step-000002.*complete\.json needs/);
    const { id } = run.manifest;
    expect([await stateOf(id), told().at(-1), await listCheckpoints(lab.store, id)]).toEqual(["failed", "failed", [1]]);
    full = false;
    lab.watch = () => undefined;
    const resumed = await lab.resume(id);
    expect([resumed.resumedAt, await resumed.done, await stateOf(id)]).toEqual([1, "finished", "finished"]);
  });
});

describe("a step for which there is no room", () => {
  it.each(["rollouts", "metrics.jsonl", "phases.jsonl", "complete.json", "eval.jsonl"])(
    "waits at its %s, and is then as if there had been",
    async (file) => {
      const settings = { steps: 2, saveSteps: 1, keepCheckpoints: 2, evalSteps: 1, evalRows: 2 } as const;
      const plain = await lab.start(settings);
      await plain.done;
      const { write, append } = lab.store;
      let refusals = 0;
      const refused = (path: string): void => {
        if (!path.includes(file) || (refusals !== 0 && !full)) return;
        full = true;
        refusals++;
        throw quotaError(path, 1000, 10);
      };
      Object.assign(lab.store, {
        write: async (path: string, content: string) => {
          refused(path);
          return write(path, content);
        },
        append: async (path: string, content: string) => {
          refused(path);
          return append(path, content);
        },
      });
      const held: string[] = [];
      lab.watch = (event, session) => {
        if (event.type === "held") held.push(event.error.message);
        // The first time there is still no room.
        if (event.type !== "state" || event.state !== "paused") return;
        full = held.length < 2;
        setTimeout(() => session.trainer?.control.play());
      };
      const run = await lab.start(settings);
      expect(await run.done).toBe("finished");
      Object.assign(lab.store, { write, append });
      expect(held).toHaveLength(2);
      expect(held[0]).toMatch(new RegExp(`${file}.* 10 bytes are free; .*; free up space, then continue$`));
      await expectSameFiles(
        await checkpointFiles(lab.store, plain.manifest.id, 2),
        await checkpointFiles(lab.store, run.manifest.id, 2),
      );
      const rows = async ({ manifest }: typeof run) => lab.metrics(manifest.id);
      const names = (all: readonly Readonly<Record<string, number>>[]) => all.map((row) => Object.keys(row).sort());
      expect(names(await rows(run))).toEqual(names(await rows(plain)));
      const evaluations = await readEvaluations(lab.store, run.manifest.id);
      expect(evaluations.map(({ report }) => report.step)).toEqual([0, 1, 2]);
    },
  );
});

describe("a warning and the end of a run for which there is no room", () => {
  it("wait as a step does, and are stored once there is room", async () => {
    const features = memoryStore();
    features.write = async (path) => {
      throw quotaError(path, 1000, 10);
    };
    const own = await openTestLab({ store: memoryStore(), features });
    const { write, append } = own.store;
    const waits = new Set(["alarms.jsonl", "run.json"]);
    const refused = (path: string, content: string): void => {
      const [file = ""] = [...waits].filter((name) => path.endsWith(name));
      if (file === "" || content === "" || (file === "run.json" && !content.includes('"state": "finished"'))) return;
      waits.delete(file);
      throw quotaError(path, 1000, 10);
    };
    Object.assign(own.store, {
      write: async (path: string, content: string) => {
        refused(path, content);
        return write(path, content);
      },
      append: async (path: string, content: string) => {
        refused(path, content);
        return append(path, content);
      },
    });
    const held: string[] = [];
    own.watch = (event, session) => {
      if (event.type === "held") held.push(event.error.message);
      if (event.type === "state" && event.state === "paused") setTimeout(() => session.trainer?.control.play());
    };
    const run = await own.start({ steps: 2, saveSteps: 1 });
    expect(await run.done).toBe("finished");
    expect(held).toEqual([expect.stringMatching(/alarms\.jsonl needs/), expect.stringMatching(/run\.json needs/)]);
    const { id } = run.manifest;
    expect((await readAlarms(own.store, id))?.map((alarm) => alarm.id)).toContain("features-not-kept");
    expect((await openRun(own.store, id)).manifest().state).toBe("finished");
    expect((await own.metrics(id)).map(({ step }) => step)).toEqual([1, 2]);
    own.session.dispose();
  });
});

describe("a stop while a step waits for room", () => {
  it.each([true, false])(
    "stores the whole step if there is room by then (%s), and the run is the same after a resume",
    async (room) => {
      const settings = { steps: 3, saveSteps: 1, keepCheckpoints: 3 } as const;
      const plain = await lab.start(settings);
      await plain.done;
      const { append } = lab.store;
      lab.store.append = async (path, content) => {
        if (full && path.endsWith("metrics.jsonl")) throw quotaError(path, 1000, 10);
        return append(path, content);
      };
      lab.watch = (event, session) => {
        if (event.type === "phase" && event.step === 2 && event.phase === "update") full = true;
        if (event.type !== "state" || event.state !== "paused") return;
        full = !room;
        setTimeout(() => session.trainer?.control.stop());
      };
      const run = await lab.start(settings);
      const { id } = run.manifest;
      if (room) expect(await run.done).toBe("stopped");
      else await expect(run.done).rejects.toThrow(/metrics\.jsonl needs 1000 bytes/);
      const stored = {
        steps: (await lab.metrics(id)).map(({ step }) => step),
        kept: await listCheckpoints(lab.store, id),
      };
      expect(stored).toEqual(room ? { steps: [1, 2], kept: [1, 2] } : { steps: [1], kept: [1] });
      Object.assign(lab.store, { append });
      full = false;
      lab.watch = () => undefined;
      expect(await (await lab.resume(id)).done).toBe("finished");
      expectSameFiles(await checkpointFiles(lab.store, id, 3), await checkpointFiles(lab.store, plain.manifest.id, 3));
      expect((await lab.metrics(id)).map(({ step }) => step)).toEqual([1, 2, 3]);
    },
  );
});

describe("a gradient that is not finite", () => {
  const HALTING = { steps: 3, loops: "1", iterations: 2, haltOnNan: true, keepCheckpoints: 3 } as const;

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
  const settings = { steps: 3, loops: "1", adaptiveEntropy: true, entropyTarget: 100, keepCheckpoints: 3 } as const;
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
    keepCheckpoints: 1,
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
    const best = bestOf(await readEvaluations(lab.store, whole), "both", [1, 2, 3])?.step;
    expect(best).not.toBe(3);
    expect(await listCheckpoints(lab.store, whole)).toEqual([best, 3]);
    // Also by a run that goes on.
    const longer = await lab.resume(whole, 4);
    expect(await longer.done).toBe("finished");
    const overall = bestOf(await readEvaluations(lab.store, whole), "both", [1, 2, 3, 4])?.step as number;
    expect(await listCheckpoints(lab.store, whole)).toEqual([...new Set([overall, 4])]);
  });
});
