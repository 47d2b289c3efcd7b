/** One run at a time, from the moment it is requested, and questions that give way to it. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { openNodeRows } from "../../scripts/lib/node/node-rows.ts";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { encodeRle } from "../../src/engine/data/mask/rle.ts";
import type { TrainingRow } from "../../src/engine/data/training-row.ts";
import { LabError } from "../../src/engine/errors.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import type { UserRewards } from "../../src/engine/rewards/user/watched.ts";
import type { StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import type { DryRunPlace } from "../../src/engine/session/dry-run.ts";
import type { RunControl } from "../../src/engine/session/session.ts";
import { dryRun } from "../../src/plugins/diagnostics/measure-steps.ts";
import { type Asked, askSession } from "../../src/plugins/try-out/answer-question.ts";
import {
  cheapConfig,
  checkpointFiles,
  expectSameFiles,
  openTestLab,
  repeatable,
  type TestLab,
  untilPaused,
} from "../support/session.ts";

let lab: TestLab;
let question: Asked;
let plain: readonly StepMetrics[];
let checkpoint: ReadonlyMap<string, Uint8Array>;
/** A custom reward that cannot be sent to the worker. */
const user: UserRewards = {
  check: async () => null,
  run: async () => {
    throw new LabError("held", "The custom reward threw: no");
  },
};
beforeAll(async () => {
  lab = await openTestLab({ user });
  const { summary, mask, rgb }: TrainingRow = await (await openNodeRows()).rows(0);
  const { height, width } = rgb;
  const regions = Array.from({ length: 8 }, () => encodeRle(mask, height, width));
  question = {
    picture: { id: summary.imageId, rgb },
    task: { kind: "describe", regions, maxCompletionLength: 256 },
    from: { from: "base" },
  };
  const run = await lab.start();
  await run.done;
  plain = await lab.metrics(run.manifest.id);
  checkpoint = await checkpointFiles(lab.store, run.manifest.id, 2);
  lab.events.length = 0;
});
afterEach(() => {
  lab.watch = () => undefined;
  lab.events.length = 0;
});

const never = (): AbortSignal => new AbortController().signal;

/** A run that is paused before its second loop acts. */
async function pausedRun() {
  lab.watch = (event, session) => {
    if (event.type !== "phase" || event.phase !== "partner") return;
    lab.watch = () => undefined;
    session.trainer?.control.pause();
  };
  const run = await lab.start();
  await untilPaused(lab);
  return run;
}

describe("a question to a paused run", () => {
  it.each<RunControl>(["play", "step", "phase", "stop"])("is dropped when the run is told to %s", async (action) => {
    const tensors = memorySnapshot().tensors;
    const run = await pausedRun();
    let moved: Promise<void> | undefined;
    const move = (): void => {
      moved = lab.session.control(action);
    };
    const onPhase = (phase: string): void => {
      // Before the device has returned a token.
      if (phase === "answer") queueMicrotask(move);
    };
    await expect(askSession(lab.session, question, onPhase, never())).rejects.toMatchObject({ code: "cancelled" });
    await moved;
    if (action === "step" || action === "phase") {
      await untilPaused(lab);
      await lab.session.control("play");
    }
    expect(await run.done).toBe(action === "stop" ? "stopped" : "finished");
    const metrics = await lab.metrics(run.manifest.id);
    expect(metrics.map(repeatable)).toEqual(action === "stop" ? [] : plain.map(repeatable));
    expect(memorySnapshot().tensors).toBe(tensors);
  });

  it("is answered while the run stays paused, which then continues as if it had not been asked", async () => {
    const run = await pausedRun();
    const few = { ...question, task: { ...question.task, maxCompletionLength: 4 } } as Asked;
    const answer = await askSession(lab.session, few, () => undefined, never());
    expect(answer).toMatchObject({ kind: "describe" });
    await lab.session.control("play");
    await expect(askSession(lab.session, few, () => undefined, never())).rejects.toThrow(/Pause it before you try/);
    expect(await run.done).toBe("finished");
    expect((await lab.metrics(run.manifest.id)).map(repeatable)).toEqual(plain.map(repeatable));
  });
});

describe("a run that is requested", () => {
  it("keeps everything else out before it has begun", async () => {
    const earlier = await lab.start({ steps: 1 });
    await earlier.done;
    const baseline = memorySnapshot().tensors;
    const first = lab.start({ steps: 1 });
    const others = [
      lab.start({ steps: 1 }),
      lab.resume(earlier.manifest.id),
      askSession(lab.session, question, () => undefined, never()),
      lab.session.selfTest(async () => ({ checks: 0, failed: [] })),
      lab.session.whileIdle("merge", async () => undefined),
    ];
    for (const other of await Promise.allSettled(others)) {
      expect(other).toMatchObject({
        status: "rejected",
        reason: { message: expect.stringMatching(/A run is in progress/) },
      });
    }
    expect(await (await first).done).toBe("finished");
    expect(memorySnapshot().tensors).toBe(baseline);
  });

  it("and does not come to be leaves the session free", async () => {
    await expect(lab.resume("no-such-run")).rejects.toThrow(/no-such-run/);
    expect(await lab.train({ steps: 1 })).toHaveLength(1);
  });
});

describe("a dry run", () => {
  const dry = (
    changes: Partial<LabConfig> = {},
    onPhase: (place: DryRunPlace) => void = () => undefined,
    signal = never(),
  ) => dryRun(lab.session, { settings: cheapConfig(changes), list: lab.list, onPhase, signal });
  const holdings = async () => {
    const { tensors, bytes, gpuBytes } = memorySnapshot();
    return { tensors, bytes, gpuBytes, files: await lab.store.list("") };
  };

  it("measures two steps, stores and tells nothing, frees everything and leaves the next run as it was", async () => {
    const before = await holdings();
    const phases: string[] = [];
    let others: ReturnType<typeof Promise.allSettled> | undefined;
    // The test has no judge: a call would fail.
    const judged = { judge: "questions", steps: 50, saveSteps: 1, evalSteps: 1, outOfMemory: "pause" } as const;
    const measured = await dry(judged, ({ step, phase, loop }) => {
      phases.push(`${step} ${phase} ${loop}`);
      others ??= Promise.allSettled([lab.start(), dry()]);
    });
    expect(phases).toEqual(expect.arrayContaining(["1 generate 1", "1 loss 2", "2 partner 1", "2 update null"]));
    expect(phases.filter((phase) => /eval|checkpoint|^3/.test(phase))).toEqual([]);
    for (const other of (await others) ?? []) {
      expect(other).toMatchObject({ reason: { message: expect.stringMatching(/A dry run is in progress/) } });
    }
    expect(measured).toMatchObject({ held: plain[1]?.["memory/gpu_bytes"], smaller: null });
    for (const { seconds } of [measured.first, measured.second]) expect(seconds).toBeGreaterThan(0);
    expect(measured.peak).toBeGreaterThanOrEqual(measured.held);
    expect(await holdings()).toEqual(before);
    expect(lab.events).toEqual([]);
    const run = await lab.start();
    await run.done;
    expect((await lab.metrics(run.manifest.id)).map(repeatable)).toEqual(plain.map(repeatable));
    expectSameFiles(await checkpointFiles(lab.store, run.manifest.id, 2), checkpoint);
  });

  it.each(["1 sample 1", "1 loss 1", "2 update null"])("can be cancelled at %s", async (when) => {
    const before = await holdings();
    const stop = new AbortController();
    const cancelled = dry(
      {},
      ({ step, phase, loop }) => `${step} ${phase} ${loop}` === when && stop.abort(),
      stop.signal,
    );
    await expect(cancelled).rejects.toMatchObject({ code: "cancelled" });
    expect(await holdings()).toEqual(before);
  });

  it("ends with the sentence of what would hold a run", async () => {
    const before = await holdings();
    const reward = { userReward: "function reward() { return 1; }", loop1User: 1 } as const;
    await expect(dry(reward)).rejects.toMatchObject({
      code: "held",
      message: "The custom reward threw: no; nothing of this step was kept",
    });
    expect(await holdings()).toEqual(before);
  });
});
