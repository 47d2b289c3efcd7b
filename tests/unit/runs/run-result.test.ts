import { describe, expect, it, test } from "vitest";
import { evalReport } from "../../../src/engine/eval/report.ts";
import type { StoredEvaluation } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { baselineIn, countChanges, rowPairs, runResult } from "../../../src/engine/runs/library/run-result.ts";
import { row } from "./sample-evaluations.ts";

const TERMS = { loops: [1, 2], bestMetric: "reward", maskPolicy: "candidates", judge: "none" } as const;

function evaluation(step: number, values: readonly number[], before: StoredEvaluation | null): StoredEvaluation {
  const rows = values.map((value, at) => row(`r${at}`, value, { part: at === 3 ? "selection" : "report" }));
  return { report: evalReport(step, rows, TERMS, before), rows };
}

describe("the result of a run", () => {
  const start = evaluation(0, [0.1, 0.5, 0.5, 0], null);
  const end = evaluation(4, [0.4, 0.4, 0.5, 1], start);

  it("is the newest evaluation against the start, over report rows alone", () => {
    const result = runResult([start, evaluation(2, [0, 0, 0, 0], start), end]);
    expect([result?.first.report.step, result?.last.report.step]).toEqual([0, 4]);
    const score = result?.scores.find(({ id }) => id === "loop1_greedy");
    expect(score).toMatchObject({ better: 1, worse: 1, same: 1 });
    expect(score?.score.difference.mean).toBeCloseTo(0.2 / 3, 12);
    expect(rowPairs(start.rows, end.rows, "loop1_greedy").map(({ after }) => after.rowId)).toEqual(["r0", "r1", "r2"]);
  });

  it("needs two evaluations of the same rows", () => {
    expect(runResult([])).toBeNull();
    expect(runResult([start])).toBeNull();
    expect(baselineIn([start, end], end)).toBe(start);
    expect(baselineIn([start, end], start)).toBe(start);
  });
});

test("a row is better or worse from the last decimal on that is written of its score", () => {
  const changes = [0.0094, -0.0094, 0.35 - 0.34, -0.01, 0, Number.NaN].map((change) => ({ change }));
  expect(countChanges(changes)).toEqual({ better: 1, worse: 1, same: 4 });
});
