/** Memory that runs out in a step: the step is undone and repeated with a smaller setting, as if it had been set before. */
import { afterEach, beforeAll, expect, it } from "vitest";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { readAlarms } from "../../src/engine/runs/alarms.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import type { DryRunPlace } from "../../src/engine/session/dry-run.ts";
import { dryRun } from "../../src/plugins/diagnostics/measure-steps.ts";
import { probeMemory } from "../../src/plugins/diagnostics/probe-memory.ts";
import { refuseNextBuffer } from "../support/refused-memory.ts";
import {
  cheapConfig,
  checkpointFiles,
  expectSameFiles,
  openTestLab,
  type TestLab,
  untilPaused,
} from "../support/session.ts";

/** Two groups at once, until memory runs out. */
const OWN = { loops: "1", promptsPerStep: 2, groupsAtOnce: 0, saveSteps: 1, lrSchedulerType: "constant" } as const;

let lab: TestLab;
beforeAll(async () => {
  lab = await openTestLab({ features: null });
});
afterEach(() => {
  lab.watch = () => undefined;
  lab.events.length = 0;
});

/** Refuses a buffer in the given phase of a step, once. */
function refuseIn(step: number, phase: string, why: "memory" | "size" = "memory"): () => boolean {
  let refused = (): boolean => false;
  let left = 1;
  lab.watch = (event, session) => {
    if (event.type !== "phase" || event.step !== step || event.phase !== phase || left-- !== 1) return;
    refused = refuseNextBuffer(session.device, undefined, why).refused;
  };
  return () => refused();
}

it("the memory of a device is found by allocating until it refuses, and given back", async () => {
  const { device } = lab.session;
  const before = memorySnapshot();
  const step = 2 ** 20;
  const most = before.gpuBytes + 3 * step;
  // Below the bound nothing is refused.
  const whole = await probeMemory(device, most, step);
  expect(whole).toBeGreaterThanOrEqual(most);
  expect(whole).toBeLessThan(most + step);
  const { refused } = refuseNextBuffer(device, step, "size");
  expect(await probeMemory(device, most, step)).toBe(memorySnapshot().gpuBytesAllocated);
  expect(refused()).toBe(true);
  await device.checkAll();
  expect(memorySnapshot().gpuBytesAllocated).toBe(memorySnapshot().gpuBytes);
  expect(memorySnapshot().gpuBytes).toBe(before.gpuBytes);
});

const steps = (): number[] => lab.events.flatMap((event) => (event.type === "step" ? [event.step] : []));

it("the user has allowed it: the run continues, equal to one whose step had the setting from its start", async () => {
  const settings = { ...OWN, outOfMemory: "smaller", steps: 2 } as const;
  const refused = refuseIn(2, "loss");
  const run = await lab.start(settings);
  expect(await run.done).toBe("finished");
  expect(refused()).toBe(true);
  expect(steps()).toEqual([1, 2]);
  const { id } = run.manifest;
  const recorded = (await openRun(lab.store, id)).manifest();
  expect([recorded.config.groupsAtOnce, recorded.config.gradientCheckpointing]).toEqual([1, false]);
  expect(recorded.smaller).toEqual([{ afterStep: 1, settings: ["groupsAtOnce"] }]);
  expect(await readAlarms(lab.store, id)).toContainEqual({
    id: "out-of-memory",
    step: 2,
    severity: "warning",
    message: expect.stringMatching(/ran out of memory in step 2.*repeated with groupsAtOnce 1$/),
  });
  const tensors = memorySnapshot().tensors;

  const other = await lab.start({ ...settings, steps: 1 });
  await other.done;
  const path = `${other.manifest.id}/run.json`;
  const manifest = JSON.parse(await lab.store.readText(path)) as { config: object };
  await lab.store.write(path, JSON.stringify({ ...manifest, config: { ...manifest.config, groupsAtOnce: 1 } }));
  await (await lab.resume(other.manifest.id, 2)).done;
  expectSameFiles(await checkpointFiles(lab.store, id, 2), await checkpointFiles(lab.store, other.manifest.id, 2));
  expect(memorySnapshot().tensors).toBe(tensors);
});

it("a dry run continues as well, and says with what", async () => {
  let refused = (): boolean => false;
  const onPhase = ({ step, phase }: DryRunPlace): void => {
    if (step === 1 && phase === "loss" && !refused()) refused = refuseNextBuffer(lab.session.device).refused;
  };
  const asked = { settings: cheapConfig(OWN), list: lab.list, onPhase, signal: new AbortController().signal };
  const tensors = memorySnapshot().tensors;
  expect(await dryRun(lab.session, asked)).toMatchObject({
    smaller: expect.stringMatching(/ran out of memory in step 1.*repeated with groupsAtOnce 1$/),
  });
  expect(memorySnapshot().tensors).toBe(tensors);
});

it("a buffer is larger than the device allows and the user is asked: the run waits before the step, and features that were not computed are not kept", async () => {
  const refused = refuseIn(1, "features", "size");
  const run = await lab.start({ ...OWN, steps: 1 });
  await untilPaused(lab);
  expect(refused()).toBe(true);
  const held = lab.events.flatMap((event) => (event.type === "held" ? [event.error] : []));
  expect(held).toEqual([
    { code: "gpu", subject: "outOfMemory", message: expect.stringMatching(/step 1.*Continue.*groupsAtOnce 1\./) },
  ]);
  expect((await openRun(lab.store, run.manifest.id)).manifest().config.groupsAtOnce).toBe(0);
  await lab.session.control("play");
  expect(await run.done).toBe("finished");
  const smaller = await lab.start({ ...OWN, steps: 1, groupsAtOnce: 1 });
  await smaller.done;
  const files = (id: string) => checkpointFiles(lab.store, id, 1);
  expectSameFiles(await files(run.manifest.id), await files(smaller.manifest.id));
});
