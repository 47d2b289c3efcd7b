/** Runs on full storage: they wait for room or end with a sentence, and their folder has no gap. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { readAlarms } from "../../src/engine/runs/alarms.ts";
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

const undisturbed = new Map<string, Promise<string>>();
/** Id of a run with these settings that always has room; equal runs are trained once. */
function plainRun(settings: Partial<LabConfig>): Promise<string> {
  const train = async (): Promise<string> => {
    const { manifest, done } = await lab.start(settings);
    await done;
    return manifest.id;
  };
  const key = JSON.stringify(settings);
  const known = undisturbed.get(key) ?? train();
  undisturbed.set(key, known);
  return known;
}

const stateOf = async (id: string): Promise<string> => (await openRun(lab.store, id)).manifest().state;
const told = (): readonly string[] => lab.events.flatMap((event) => (event.type === "state" ? [event.state] : []));

describe("a checkpoint for which there is no room", () => {
  it("ends a stopped run as failed, with a sentence, and the next run can begin", async () => {
    lab.watch = (event, { trainer }) => {
      if (event.type === "phase" && event.step === 2 && event.phase === "sample") trainer?.control.stop();
    };
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

  it("names what is kept, from which the run continues", async () => {
    lab.watch = (event, session) => {
      if (event.type === "checkpoint") full = true;
      if (event.type === "held") session.trainer?.control.stop();
    };
    const run = await lab.start({ steps: 3, saveSteps: 1, saveTotalLimit: 3 });
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
      const settings = { steps: 2, saveSteps: 1, saveTotalLimit: 2, evalSteps: 1, evalRows: 2 } as const;
      const plain = await plainRun(settings);
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
        await checkpointFiles(lab.store, plain, 2),
        await checkpointFiles(lab.store, run.manifest.id, 2),
      );
      const names = async (id: string) => (await lab.metrics(id)).map((row) => Object.keys(row).sort());
      expect(await names(run.manifest.id)).toEqual(await names(plain));
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
      const settings = { steps: 3, saveSteps: 1, saveTotalLimit: 3 } as const;
      const plain = await plainRun(settings);
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
      expectSameFiles(await checkpointFiles(lab.store, id, 3), await checkpointFiles(lab.store, plain, 3));
      expect((await lab.metrics(id)).map(({ step }) => step)).toEqual([1, 2, 3]);
    },
  );
});

describe("a finished step that waits for room", () => {
  it("is saved and evaluated on request only after its metrics are stored", async () => {
    const { append, write } = lab.store;
    const order: string[] = [];
    const note = (path: string): void => {
      const [file] = ["metrics.jsonl", "complete.json", "eval.jsonl"].filter((name) => path.endsWith(name));
      if (file !== undefined) order.push(file);
    };
    full = true;
    Object.assign(lab.store, {
      write: async (path: string, content: string) => {
        note(path);
        return write(path, content);
      },
      append: async (path: string, content: string) => {
        if (full && path.endsWith("metrics.jsonl")) throw quotaError(path, 1000, 10);
        note(path);
        return append(path, content);
      },
    });
    lab.watch = (event, { trainer }) => {
      if (event.type !== "state" || event.state !== "paused") return;
      setTimeout(() => {
        full = false;
        trainer?.askCheckpoint();
        trainer?.askEvaluation();
        setTimeout(() => trainer?.control.play());
      });
    };
    const run = await lab.start({ steps: 1, evalRows: 2 });
    expect(await run.done).toBe("finished");
    Object.assign(lab.store, { append, write });
    expect(order).toEqual(["metrics.jsonl", "complete.json", "eval.jsonl", "eval.jsonl"]);
  });
});
