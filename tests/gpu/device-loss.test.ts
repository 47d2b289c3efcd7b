/** A device lost in the middle of a step: the run continues from its last checkpoint, or pauses with a sentence. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import type { StartedRun } from "../../src/engine/rl/run/lab.ts";
import { readPhases } from "../../src/engine/runs/phase-lines.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { type Recovery, runWithDeviceRecovery } from "../../src/engine/session/launch-run.ts";
import { checkpointFiles, expectSameFiles, openTestLab, repeatable, type TestLab } from "../support/session.ts";

let lab: TestLab;
beforeAll(async () => {
  lab = await openTestLab({ features: null });
});
afterEach(() => {
  lab.watch = () => undefined;
  lab.events.length = 0;
});

/** Destroys the device when the given step enters the given phase, the given number of times. */
function loseAt(step: number, phase: string, times: number): void {
  let left = times;
  lab.watch = (event, session) => {
    if (event.type !== "phase" || event.step !== step || event.phase !== phase || left === 0) return;
    left--;
    session.device.device.destroy();
  };
}

const alarms = (): string[] => lab.events.flatMap((event) => (event.type === "alarm" ? [event.alarm.message] : []));

describe("a device that is lost in a step", () => {
  let plain: StartedRun;
  beforeAll(async () => {
    plain = await lab.start({ steps: 3, saveSteps: 1 });
    await plain.done;
    lab.events.length = 0;
  });

  it.each(["generate", "loss"])("(%s) is replaced, and the run ends as if nothing had happened", async (phase) => {
    const expected = await checkpointFiles(lab.store, plain.manifest.id, 3);
    const tensors = memorySnapshot().tensors;
    loseAt(3, phase, 1);
    const run = await lab.start({ steps: 3, saveSteps: 1 });
    expect(await run.done).toBe("finished");
    expectSameFiles(await checkpointFiles(lab.store, run.manifest.id, 3), expected);
    const [one, two] = [await lab.metrics(plain.manifest.id), await lab.metrics(run.manifest.id)];
    // Bytes depend on which of the kept tensors have been used on the device yet.
    const numbers = (row: (typeof one)[number]) =>
      Object.fromEntries(Object.entries(repeatable(row)).filter(([name]) => !name.startsWith("memory/")));
    expect(two.map(numbers)).toEqual(one.map(numbers));
    // Counts continue over both devices; features are computed again on the second, all other work is the same.
    const work = async (id: string) =>
      (await readPhases(lab.store, id)).map(({ step, phases }) => {
        const { generate, partner, loss, update, ema } = phases;
        return [step, [generate, partner, loss, update, ema].map((cost) => [cost?.dispatches, cost?.readBytes])];
      });
    expect(await work(run.manifest.id)).toEqual(await work(plain.manifest.id));
    expect(alarms().filter((message) => /lost.*continues from step 2$/.test(message))).toHaveLength(1);
    expect(memorySnapshot().tensors).toBe(tensors);
    expect(lab.session.trainer).toBeUndefined();
  });

  it("without a report, but so that reads are refused, is replaced as well", async () => {
    const { globals } = (await import("webgpu")) as unknown as { globals: { GPUBuffer: { prototype: GPUBuffer } } };
    const { mapAsync } = globals.GPUBuffer.prototype;
    let refused = 0;
    lab.watch = (event) => {
      if (event.type !== "phase" || event.step !== 2 || event.phase !== "loss" || refused > 0) return;
      globals.GPUBuffer.prototype.mapAsync = () => {
        refused++;
        globals.GPUBuffer.prototype.mapAsync = mapAsync;
        return Promise.reject(new DOMException("A valid external Instance reference no longer exists.", "AbortError"));
      };
    };
    const run = await lab.start({ steps: 2, saveSteps: 1 });
    expect(await run.done).toBe("finished");
    expect(refused).toBe(1);
    expect((await lab.metrics(run.manifest.id)).map((row) => row.step)).toEqual([1, 2]);
    expect(alarms().filter((message) => /lost without a report.*continues from step 1$/.test(message))).toHaveLength(1);
  });

  it("before the first checkpoint makes the run begin again", async () => {
    loseAt(1, "reward", 1);
    const run = await lab.start({ steps: 1 });
    expect(await run.done).toBe("finished");
    expect((await lab.metrics(run.manifest.id)).map((row) => row.step)).toEqual([1]);
  });

  it.each<[string, Partial<LabConfig>]>([
    ["one rollout at a time", { microRollouts: 1 }],
    ["supervised", { mode: "sft" }],
  ])("leaves nothing of the loss on either device: %s", async (_, settings) => {
    const tensors = memorySnapshot().tensors;
    loseAt(1, "loss", 1);
    const run = await lab.start({ ...settings, steps: 1, loops: "1" });
    expect(await run.done).toBe("finished");
    expect(memorySnapshot().tensors).toBe(tensors);
  });

  it("twice within a minute pauses the run with a sentence, to be resumed", async () => {
    loseAt(2, "generate", 2);
    const run = await lab.start({ steps: 2, saveSteps: 1 });
    await expect(run.done).rejects.toThrow(/lost.*second loss within a minute, so the run is paused/);
    expect((await openRun(lab.store, run.manifest.id)).manifest().state).toBe("paused");
    expect(lab.session.trainer).toBeUndefined();
    expect(() => lab.session.device.check()).toThrow(/lost/);
  });
});

describe("losses", () => {
  const recovery = (times: readonly number[]): Recovery & { paused: number } => {
    let at = 0;
    const self = {
      paused: 0,
      lost: async () => "The device was lost",
      restore: async () => () => Promise.reject(new Error("again")),
      pause: async () => {
        self.paused++;
      },
      now: () => times[at++] as number,
    };
    return self;
  };

  it("further apart than a minute are all got over", async () => {
    const far = recovery([0, 61, 122, 123]);
    await expect(runWithDeviceRecovery(() => Promise.reject(new Error("first")), far)).rejects.toThrow(/second loss/);
    expect(far.paused).toBe(1);
  });

  it("that nothing can be opened after pause the run too", async () => {
    const dead = { ...recovery([0]), restore: () => Promise.reject(new Error("no adapter")) };
    await expect(runWithDeviceRecovery(() => Promise.reject(new Error("first")), dead)).rejects.toThrow(
      /no adapter; the run is paused/,
    );
  });
});
