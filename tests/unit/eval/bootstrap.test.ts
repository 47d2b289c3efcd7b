import { describe, expect, it } from "vitest";
import { bootstrapMean, pairedDifference } from "../../../src/engine/eval/bootstrap.ts";
import { storeEvaluation } from "../../../src/engine/eval/store.ts";
import { normal } from "../../../src/engine/gpu/random.ts";
import { EVAL_METRICS, type RowScores, readEvaluations } from "../../../src/engine/runs/evaluations.ts";
import { memoryStore } from "../../../src/engine/runs/memory-store.ts";

const noise = (count: number, seed: number): number[] =>
  Array.from({ length: count }, (_, position) =>
    normal({ seed, step: 0, loop: 0, row: 0, rollout: 0, position, stream: 9 }),
  );

const rows = (value: number): RowScores[] =>
  Array.from({ length: 4 }, (_, i) => ({
    rowId: String(i),
    caption: "",
    captionPrime: "",
    maskPrime: null,
    maskGreedy: { size: [1, 1], counts: "1" },
    captionGreedy: "",
    ...(Object.fromEntries(EVAL_METRICS.map((metric) => [metric, value + i / 10])) as Record<
      (typeof EVAL_METRICS)[number],
      number
    >),
  }));

describe("bootstrap intervals", () => {
  it("cover the true mean about 95 times in 100", () => {
    let covered = 0;
    const trials = 100;
    for (let seed = 0; seed < trials; seed++) {
      const { low, high } = bootstrapMean(noise(40, seed), seed);
      if (low <= 0 && high >= 0) covered++;
    }
    expect(covered).toBeGreaterThanOrEqual(86);
    expect(covered).toBeLessThanOrEqual(100);
  });

  it("are the same numbers for the same seed", () => {
    expect(bootstrapMean(noise(20, 1), 5)).toEqual(bootstrapMean(noise(20, 1), 5));
  });

  it("narrow when rows are compared with themselves", () => {
    const before = noise(50, 2).map((value) => 5 * value);
    const now = before.map((value, i) => value + 0.1 + 0.01 * (i % 3));
    const { low, high } = pairedDifference(now, before, 1);
    expect(low).toBeGreaterThan(0.1);
    expect(high).toBeLessThan(0.12);
  });
});

describe("stored evaluations", () => {
  it("compare with the first of the run and replace those a resumed run repeats", async () => {
    const store = memoryStore();
    expect((await storeEvaluation(store, "r", 0, rows(0.1))).difference).toBeNull();
    await storeEvaluation(store, "r", 10, rows(0.2));
    await storeEvaluation(store, "r", 20, rows(0.3));
    const again = await storeEvaluation(store, "r", 10, rows(0.4));
    expect(again.difference?.loop1_greedy.mean).toBeCloseTo(0.3, 12);
    expect((await readEvaluations(store, "r")).map((stored) => stored.report.step)).toEqual([0, 10]);
  });
});
