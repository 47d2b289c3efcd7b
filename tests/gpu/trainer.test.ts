/** Runs of the pocket model: they repeat, return their memory, and take a step with every loss and policy. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { SETTINGS } from "../../src/engine/config/table.ts";
import { memorySnapshot } from "../../src/engine/gpu/runtime/memory-snapshot.ts";
import { readPhases } from "../../src/engine/runs/phase-lines.ts";
import type { StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { openTestLab, repeatable, type TestLab } from "../support/session.ts";

let lab: TestLab;
beforeAll(async () => {
  lab = await openTestLab({ features: null });
});

/** Names of metrics that are NaN or infinite. */
function notFinite(row: StepMetrics): string[] {
  return Object.entries(row).flatMap(([name, value]) => (Number.isFinite(value) ? [] : [name]));
}

async function oneStep(changes: Partial<LabConfig>): Promise<StepMetrics> {
  const rows = await lab.train({ steps: 1, ...changes });
  expect(rows).toHaveLength(1);
  const row = rows[0] as StepMetrics;
  expect(notFinite(row)).toEqual([]);
  for (const loop of ["loop1", "loop2"]) {
    const gap = row[`${loop}/logp_train_vs_sampling/max`];
    if (gap !== undefined) expect(gap).toBeLessThan(1e-4);
  }
  return row;
}

describe("a run", () => {
  let first: readonly StepMetrics[];
  let firstId: string;
  /** The same run once more. */
  let againId: string;
  const before = { tensors: 0, bytes: 0 };
  beforeAll(async () => {
    const { tensors, bytes } = memorySnapshot();
    Object.assign(before, { tensors, bytes });
    const run = await lab.start({ steps: 3 });
    await run.done;
    firstId = run.manifest.id;
    first = await lab.metrics(firstId);
    const again = await lab.start({ steps: 3 });
    await again.done;
    againId = again.manifest.id;
  });

  it("gives finite metrics of both loops", () => {
    expect(first.map((row) => row.step)).toEqual([1, 2, 3]);
    expect(first.flatMap(notFinite)).toEqual([]);
    for (const row of first) {
      expect(row).toHaveProperty(["loop1/reward"]);
      expect(row).toHaveProperty(["loop2/reward"]);
    }
  });

  it("stores the files that docs/spec/formats.md lists, and no others", async () => {
    const section = readFileSync("docs/spec/formats.md", "utf8").split("### 8.6")[1]?.split("\n## ")[0] ?? "";
    const cells = [...section.matchAll(/^\| (`.*?) \| /gm)].flatMap(([, cell = ""]) => cell.match(/[^`\s,]+/g) ?? []);
    const patterns = cells.map((path) => {
      const pattern = path.replaceAll(".", "\\.").replace("NNNNNN", "\\d{6}").replace("ID", "\\w+").replace("…", ".+");
      return new RegExp(`^${pattern}$`);
    });
    const stored = (await lab.store.list(firstId)).map(({ path }) => path.slice(firstId.length + 1));
    expect(stored).toEqual(expect.arrayContaining(["run.json", "forms.json", "metrics.jsonl", "phases.jsonl"]));
    expect(stored.filter((path) => path.startsWith("rollouts/"))).toHaveLength(3);
    expect(stored.filter((path) => !patterns.some((pattern) => pattern.test(path)))).toEqual([]);
  });

  it("trains on the log-probabilities it sampled with", () => {
    for (const row of first) {
      expect(row["loop1/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
      expect(row["loop2/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
    }
  });

  it("changes weights, and the partner follows at a distance", () => {
    for (const row of first) {
      expect(row.grad_norm).toBeGreaterThan(0);
      expect(row["ema/distance"]).toBeGreaterThan(0);
    }
  });

  it("holds as many tensors and bytes after the third step as after the second", () => {
    for (const name of ["memory/num_tensors", "memory/gpu_bytes", "memory/gpu_bytes_allocated"]) {
      expect(first[2]?.[name], name).toBe(first[1]?.[name]);
      expect(first[2]?.[name], name).toBeGreaterThan(0);
    }
  });

  it("records what every phase cost, the same work for the same seed", async () => {
    const phases = await readPhases(lab.store, firstId);
    expect(phases.map(({ step }) => step)).toEqual([1, 2, 3]);
    const told = lab.events.flatMap((event) => (event.type === "step" ? [event] : []));
    expect(told.slice(0, 3).map(({ step, costs }) => ({ step, phases: costs }))).toEqual(phases);
    for (const [at, { phases: costs }] of phases.entries()) {
      for (const phase of ["generate", "partner", "loss", "update", "ema"]) {
        expect(costs[phase]?.dispatches, phase).toBeGreaterThan(0);
        expect(costs[phase]?.seconds, phase).toBe(first[at]?.[`time/${phase}`]);
        if (lab.session.device.device.features.has("timestamp-query"))
          expect(costs[phase]?.gpuSeconds, phase).toBeGreaterThan(0);
      }
    }
    const work = (of: typeof phases) =>
      of.map((row) => Object.entries(row.phases).map(([phase, cost]) => [phase, cost.dispatches, cost.readBytes]));
    expect(work(await readPhases(lab.store, againId))).toEqual(work(phases));
  });

  it("frees everything but the model", () => {
    const { tensors, bytes, gpuBytes, gpuBytesAllocated } = memorySnapshot();
    expect({ tensors, bytes }).toEqual(before);
    expect(gpuBytes).toBeLessThanOrEqual(bytes);
    expect(gpuBytesAllocated).toBe(gpuBytes);
  });

  it("repeats with its seed to the last bit, and not with another", async () => {
    expect((await lab.metrics(againId)).map(repeatable)).toEqual(first.map(repeatable));
    const other = await lab.train({ steps: 1, seed: 2 });
    expect(repeatable(other[0] as StepMetrics)["loop1/entropy"]).not.toBe(first[0]?.["loop1/entropy"]);
  });

  it("stores what it announced", async () => {
    lab.events.length = 0;
    const started = await lab.start({ steps: 1, numGenerations: 3 });
    expect(await started.done).toBe("finished");
    const run = await openRun(lab.store, started.manifest.id);
    expect(run.manifest().state).toBe("finished");
    const groups = lab.events.flatMap((event) => (event.type === "group" ? [event.group] : []));
    expect(groups.map((group) => group.loop)).toEqual([1, 2]);
    // Rollouts are shown as they are sampled, answered, rewarded and compared, before the pass with their log-probabilities.
    // Only a whole group has the hash of its picture.
    const early = groups.flatMap(({ pixels: _, ...group }) => {
      const scored = { ...group, rollouts: group.rollouts.map((one) => ({ ...one, actions: [] })) };
      const before = { ...scored, rewardMean: Number.NaN, rewardStd: Number.NaN, zeroSpread: false, unfinished: true };
      const rewarded = scored.rollouts.map((one) => ({ ...one, advantage: 0 }));
      const answered = rewarded.map((one) => ({ ...one, reward: null, terms: [] }));
      const nothing = group.loop === 1 ? { predictedMask: null } : { captionPrime: null };
      const sampled = answered.map((one) => ({ ...one, ...nothing }));
      return [...[sampled, answered, rewarded].map((rollouts) => ({ ...before, rollouts })), scored];
    });
    expect(lab.events.flatMap((event) => (event.type === "drawn" ? [event.group] : []))).toEqual(early);
    const given = lab.events.flatMap((event) => (event.type === "rows" ? [event.rows] : []));
    expect(given.map(({ step, loop, rows }) => [step, loop, rows.map(({ id }) => id)])).toEqual(
      groups.map(({ step, loop, rowId }) => [step, loop, [rowId]]),
    );
    const order = lab.events.flatMap(({ type }) => (type === "drawn" || type === "group" ? [type] : []));
    expect(order).toEqual([...early.map(() => "drawn"), "group", "group"]);
    const stored = await run.readGroups(1);
    expect(stored.map((group) => group.rollouts.map((rollout) => rollout.id))).toEqual(
      groups.map((group) => group.rollouts.map((rollout) => rollout.id)),
    );
    const [captions] = stored;
    expect(captions?.rollouts).toHaveLength(3);
    for (const rollout of captions?.rollouts ?? []) {
      expect(rollout.actions.length).toBeGreaterThan(0);
      for (const action of rollout.actions) expect(Math.abs(action.logp - action.samplingLogp)).toBeLessThan(1e-4);
    }
    // Advantages of a group sum to zero.
    const sum = (captions?.rollouts ?? []).reduce((total, rollout) => total + rollout.advantage, 0);
    expect(Math.abs(sum)).toBeLessThan(1e-6);
  });
});

describe("one step with", () => {
  it("loop 1 alone has no metric of loop 2 and leaves the mask decoder's gradient out", async () => {
    const row = await oneStep({ loops: "1" });
    expect(Object.keys(row).filter((name) => name.startsWith("loop2/"))).toEqual([]);
    expect(row["grad_norm/projector"]).toBeGreaterThan(0);
    expect(row["grad_norm/mask-decoder"] ?? 0).toBe(0);
  });

  it("loop 2 alone reaches the mask decoder", async () => {
    // The entropy of a choice among candidates gives a gradient whatever rewards a barely trained model earns.
    const row = await oneStep({ loops: "2", maskPolicy: "candidates", entropyCoef: 0.1 });
    expect(Object.keys(row).filter((name) => name.startsWith("loop1/"))).toEqual([]);
    expect(row["grad_norm/mask-decoder"]).toBeGreaterThan(0);
    expect(row["grad_norm/seg-prompt"]).toBeGreaterThan(0);
  });

  it.each(SETTINGS.maskPolicy.choices.map((choice) => choice.value))("mask policy %s", async (maskPolicy) => {
    lab.events.length = 0;
    // Noise large enough to reach other objects: with one proposal there would be no choice.
    const strong = { embeddingSigma: 4, numGenerations: 3, maskAnchor: "none", entropyCoef: 0 } as const;
    const row = await oneStep({ loops: "2", maskPolicy, ...strong });
    // The log-probabilities that the samplers computed on the CPU are those of the training pass.
    expect(row["loop2/logp_train_vs_sampling/max"]).toBeLessThan(1e-3);
    const [group] = lab.events.flatMap((event) => (event.type === "group" ? [event.group] : []));
    if (maskPolicy === "field") expect(row["loop2/ratio/mean"]).toBeCloseTo(1, 5);
    // At most as many proposals as rollouts, fewer where masks are alike.
    if (maskPolicy === "proposals") expect([2, 3]).toContain(group?.rollouts.length);
    else expect(group?.rollouts).toHaveLength(3);
    const supervised = ["imitation", "pathwise"].includes(maskPolicy);
    if (supervised) expect(row[`loop2/${maskPolicy}_loss`]).toBeGreaterThan(0);
    // The decoder learns wherever it comes before the sampling point and the rewards differ.
    const behind = ["embedding"].includes(maskPolicy) || (row["loop2/frac_reward_zero_std"] === 1 && !supervised);
    expect((row["grad_norm/mask-decoder"] ?? 0) > 0).toBe(!behind);
  });

  it("an anchor at the start costs nothing in the first step, one at the truth does", async () => {
    const atStart = await oneStep({ loops: "2", maskAnchor: "start", maskAnchorWeight: 2 });
    expect(Math.abs(atStart["loop2/mask_anchor_loss"] ?? 1)).toBeLessThan(1e-5);
    const atTruth = await oneStep({ loops: "2", maskAnchor: "truth", maskAnchorWeight: 1 });
    expect(atTruth["loop2/mask_anchor_loss"]).toBeGreaterThan(0.01);
    expect(atTruth["grad_norm/mask-decoder"]).toBeGreaterThan(0);
  });

  it("shuffled rewards leave the group's mean and spread as they are", async () => {
    const plain = await oneStep({ loops: "1", numGenerations: 4 });
    const shuffled = await oneStep({ loops: "1", numGenerations: 4, shuffleRewards: true });
    expect(shuffled["loop1/reward"]).toBeCloseTo(plain["loop1/reward"] as number, 9);
    expect(shuffled["loop1/group_std_mean"]).toBeCloseTo(plain["loop1/group_std_mean"] as number, 9);
  });

  it("the notes' objective", async () => {
    const row = await oneStep({ objective: "notes", reference: "ema", beta: 0.1 });
    expect(row.skipped_steps).toBe(0);
  });

  it("two passes over the same rollouts takes two optimiser steps", async () => {
    const started = await lab.start({ steps: 1, numIterations: 2 });
    await started.done;
    const path = `${started.manifest.id}/checkpoints/step-000001/trainer_state.json`;
    const state = JSON.parse(await lab.store.readText(path)) as { sa2va_lab: { trainer: object } };
    expect(state.sa2va_lab.trainer).toEqual({ optimiserSteps: 2, skippedSteps: 0 });
    expect((await lab.metrics(started.manifest.id)).flatMap(notFinite)).toEqual([]);
  });

  it("an accumulation of 2 samples two groups a loop on different rows", async () => {
    lab.events.length = 0;
    const row = await oneStep({ accumulation: 2, loops: "1" });
    const groups = lab.events.flatMap((event) => (event.type === "group" ? [event.group] : []));
    expect(groups.map((group) => group.group)).toEqual([0, 1]);
    expect(new Set(groups.map((group) => group.rowId)).size).toBe(2);
    expect(row.epoch).toBeGreaterThan(0);
  });

  it("leaves no tensor behind, whatever was chosen", async () => {
    const before = memorySnapshot().tensors;
    await oneStep({ maskPolicy: "field", numIterations: 2, accumulation: 2, reference: "ema" });
    expect(memorySnapshot().tensors).toBe(before);
  });
});
