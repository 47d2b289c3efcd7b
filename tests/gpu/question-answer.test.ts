/** The optional loop question → answer on the pocket rows, whose conversations ask for a description. */
import { beforeAll, describe, expect, it } from "vitest";
import { readEvaluations } from "../../src/engine/runs/evaluations/evaluations.ts";
import type { GroupRecord, StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { openRun } from "../../src/engine/runs/run-folder.ts";
import { openTestLab, type TestLab } from "../support/session.ts";

let lab: TestLab;
beforeAll(async () => {
  lab = await openTestLab();
});

describe("question → answer", () => {
  let id: string;
  let metrics: readonly StepMetrics[];
  let groups: readonly GroupRecord[];
  beforeAll(async () => {
    const run = await lab.start({
      steps: 10,
      loops: "3",
      loop3Weight: 1,
      numGenerations: 4,
      promptsPerStep: 2,
      maxCompletionLength: 8,
      evalSteps: 10,
      evalRows: 4,
    });
    await run.done;
    id = run.manifest.id;
    metrics = await lab.metrics(id);
    groups = await (await openRun(lab.store, id)).readGroups(10);
  });

  it("trains ten steps on its own, every number finite", () => {
    expect(metrics).toHaveLength(10);
    for (const row of metrics) {
      expect(Object.entries(row).filter(([, value]) => !Number.isFinite(value))).toEqual([]);
      expect(row["loop3/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
      expect(Object.keys(row).filter((name) => /^loop[12]\//.test(name))).toEqual([]);
    }
    expect(metrics.some((row) => (row.grad_norm ?? 0) > 0)).toBe(true);
    expect(metrics.some((row) => (row["loop3/group_std_mean"] ?? 0) > 0)).toBe(true);
  });

  it("stores its groups: the row's question in the prompt, the answer against the row's own", () => {
    expect(groups.map(({ loop }) => loop)).toEqual([3, 3]);
    for (const rollout of groups.flatMap(({ rollouts }) => rollouts)) {
      expect(rollout.prompt).toContain("Please describe the marked region.");
      expect(rollout.predictedMask).toBeNull();
      const meteor = rollout.terms.find(({ name }) => name === "meteor");
      expect(meteor?.weight).toBe(1);
      expect(rollout.reward).toBe(meteor?.value);
      expect(rollout.actions.length).toBeGreaterThan(0);
    }
  });

  it("has held-out scores", async () => {
    const [first, last] = await readEvaluations(lab.store, id);
    expect(first?.report.reward?.scores.reward3_greedy).toMatchObject({ n: first?.report.n, difference: null });
    expect(last?.report.reward?.scores.reward3_sampled?.difference).not.toBeNull();
    expect(last?.report.reward?.scores.reward1_sampled).toBeNull();
  });

  it("trains beside both loops, each with its own weight", async () => {
    const [row] = await lab.train({ steps: 1, loop3Weight: 0.5, evalSteps: 0 });
    const losses = [1, 2, 3].map((loop) => row?.[`loop${loop}/loss`] ?? Number.NaN);
    const [a = 0, b = 0, c = 0] = losses;
    expect(losses.every(Number.isFinite)).toBe(true);
    expect(row?.loss).toBeCloseTo(a + 0.1 * b + 0.5 * c, 6);
    expect(row).not.toHaveProperty("grad_cosine");
    for (const loop of [1, 2, 3]) expect(row?.[`loop${loop}/grad_norm`]).toBeGreaterThanOrEqual(0);
  });
});
