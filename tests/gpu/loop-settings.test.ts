/** What a loop's loss was computed with is what its metrics and records tell. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LabConfig } from "../../src/engine/config/table.ts";
import type { StepMetrics } from "../../src/engine/runs/records.ts";
import { cheapConfig, openTestLab, type TestLab } from "../support/session.ts";

let lab: TestLab;
beforeAll(async () => {
  lab = await openTestLab();
});
afterAll(() => lab.session.dispose());

/** Large steps on captions: what follows the first update is far from what sampled. */
const FAST = { loops: "1", groupSize: 4, learningRate: 0.02, maxGradNorm: 0 } as const satisfies Partial<LabConfig>;

async function train(changes: Partial<LabConfig>): Promise<readonly StepMetrics[]> {
  lab.events.length = 0;
  return await lab.train(changes);
}

const clippedActions = (step: number): number =>
  lab.events
    .flatMap((event) => (event.type === "group" && event.group.step === step ? event.group.rollouts : []))
    .flatMap(({ actions }) => actions)
    .filter(({ clipped }) => clipped).length;

describe("ratios", () => {
  it("are those against the reference with the notes' formula", async () => {
    const [first, ...later] = await train({ ...FAST, steps: 4, objective: "notes" });
    expect(first?.["loop1/ratio/mean"]).toBeCloseTo(1, 5);
    const clips = later.map((row) => row["loop1/clip_ratio/region_mean"] as number);
    expect(Math.max(...clips)).toBeGreaterThan(0);
    // Metrics and records agree on whether anything was clipped.
    expect(later.map((row) => clippedActions(row.step as number) > 0)).toEqual(clips.map((share) => share > 0));
    for (const row of later) expect(row["loop1/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
  });

  it("are those of all passes over a batch", async () => {
    const [row] = await train({ ...FAST, steps: 1, iterations: 3 });
    expect(row?.["loop1/clip_ratio/region_mean"]).toBeGreaterThan(0);
    expect(row?.["loop1/ratio/max"]).toBeGreaterThan(1.2);
    expect(row?.["loop1/logp_train_vs_sampling/max"]).toBeLessThan(1e-4);
  });
});

describe("a loss of fixed length", () => {
  // Every cell of a field counts, so the mean over a row is its sum over T: the two losses are one.
  const FIELD = { steps: 1, loops: "2", maskPolicy: "field", groupSize: 3, entropyCoefficient: 0, beta: 0 } as const;
  const ANCHORED = { maskAnchor: "none", loop2Iou: 1, promptsPerStep: 2 } as const;

  it.each([0, 1])("divides loop 2 by the cells of its mask policy, %i groups at once", async (groupsAtOnce) => {
    const norm = async (lossType: LabConfig["lossType"]): Promise<number> => {
      const [row] = await train({ ...FIELD, ...ANCHORED, groupsAtOnce, lossType });
      return row?.grad_norm as number;
    };
    const mean = await norm("grpo");
    expect(mean).toBeGreaterThan(1e-6);
    expect((await norm("dr_grpo")) / mean).toBeCloseTo(1, 5);
  });
});

describe("settings that no step can be taken with", () => {
  it("are told by the plan and refused at the start, with no run left", async () => {
    const before = await lab.store.list("");
    const plan = await lab.session.plan(cheapConfig({ delta: 0.5 }));
    expect(plan.problems).toEqual(["Loss setting delta must be above 1, or 0 for none; no loss was computed."]);
    await expect(lab.start({ delta: 0.5 })).rejects.toThrow(/delta must be above 1/);
    expect(await lab.store.list("")).toEqual(before);
  });
});
