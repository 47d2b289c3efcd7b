/** Groups taken in one batch against the same groups one by one: same samples, same numbers up to rounding. */
import { beforeAll, describe, expect, it } from "vitest";
import type { LabConfig } from "../../src/engine/config/table.ts";
import { EVAL_METRICS, readEvaluations, type StoredEvaluation } from "../../src/engine/runs/evaluations/evaluations.ts";
import type { StepMetrics } from "../../src/engine/runs/rollouts/records.ts";
import { useGpu } from "../support/gpu.ts";
import { openTestLab, repeatable, type TestLab } from "../support/session.ts";

let lab: TestLab;

beforeAll(async () => {
  await useGpu();
  lab = await openTestLab();
});

const TOGETHER = { promptsPerStep: 3, numGenerations: 2, steps: 2, partnerMaxTokens: 3, seed: 11 } as const;

const run = (changes: Partial<LabConfig>) => lab.train({ ...TOGETHER, ...changes });
/** Settings under which groups run one by one. */
const apart = new Map<string, Promise<readonly StepMetrics[]>>();

async function bothWays(changes: Partial<LabConfig>): Promise<[readonly StepMetrics[], readonly StepMetrics[]]> {
  const single = { ...changes, groupsAtOnce: 1 };
  const key = JSON.stringify(single);
  apart.set(key, apart.get(key) ?? run(single));
  return [await (apart.get(key) as Promise<readonly StepMetrics[]>), await run({ groupsAtOnce: 0, ...changes })];
}

/** Largest gap of any metric of a step, relative to its size where that is above 1. */
function gap(a: StepMetrics, b: StepMetrics): { readonly name: string; readonly gap: number } {
  let worst = { name: "none", gap: 0 };
  const names = Object.keys(repeatable(a)).filter((name) => !name.startsWith("memory/"));
  for (const name of names) {
    const [x, y] = [a, b].map((metrics) => (metrics as unknown as Record<string, unknown>)[name]);
    if (typeof x !== "number" || typeof y !== "number") continue;
    const own = Number.isNaN(x) && Number.isNaN(y) ? 0 : Math.abs(x - y) / Math.max(1, Math.abs(x));
    if (!(own <= worst.gap)) worst = { name, gap: own };
  }
  return worst;
}

describe("groups at once", () => {
  it.each([
    ["the demo's settings", {}],
    ["two by two", { groupsAtOnce: 2 }],
    ["the moving average as reference, two passes", { steps: 1, reference: "ema", numIterations: 2 }],
    [
      "candidates, recomputed blocks",
      { steps: 1, maskPolicy: "candidates", gradientCheckpointing: true, maskAnchor: "truth" },
    ],
    ["noise on [SEG], no reference", { steps: 1, maskPolicy: "embedding", beta: 0, maskAnchor: "none" }],
    [
      "distinct proposals, as many as a group has",
      { steps: 1, maskPolicy: "proposals", embeddingSigma: 2, maskAnchor: "none" },
    ],
    ["imitation, loss by tokens", { steps: 1, maskPolicy: "imitation", lossType: "dapo", entropyCoef: 0.01 }],
  ] as const)("leave a step as it is: %s", async (_, changes) => {
    const [single, together] = await bothWays(changes);
    expect(together).toHaveLength(single.length);
    const [first, second] = single.map((metrics, step) => gap(metrics, together[step] as StepMetrics));
    expect(first?.gap, first?.name).toBeLessThan(2e-4);
    // The second step follows an update, whose roundings differ.
    if (second !== undefined) expect(second.gap, second.name).toBeLessThan(0.05);
  });
});

describe("held-out rows at once", () => {
  it("score as one by one, and tell how far they are", async () => {
    const scores = async (groupsAtOnce: number, told: readonly number[]) => {
      const from = lab.events.length;
      const run = await lab.start({ steps: 1, promptsPerStep: 1, evalSteps: 1, evalRows: 3, groupsAtOnce });
      await run.done;
      // Before the step and after it.
      const rows = lab.events.slice(from).flatMap((event) => (event.type === "eval-rows" ? [event] : []));
      expect(rows).toEqual([...told, ...told].map((done) => ({ type: "eval-rows", done, total: 3 })));
      const [first] = await readEvaluations(lab.store, run.manifest.id);
      return (first as StoredEvaluation).rows;
    };
    const [single, together] = [await scores(1, [1, 2, 3]), await scores(2, [2, 3])];
    expect(together).toHaveLength(3);
    const said = (rows: typeof single) =>
      rows.map(({ rowId, captionGreedy, captionPrime }) => [rowId, captionGreedy, captionPrime]);
    expect(said(together)).toEqual(said(single));
    for (const metric of EVAL_METRICS) {
      const gaps = together.map((row, at) => Math.abs(row[metric] - (single[at]?.[metric] ?? Number.NaN)));
      expect(Math.max(...gaps), metric).toBeLessThan(2e-3);
    }
  });
});
