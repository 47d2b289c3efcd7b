import { expect, test } from "vitest";
import { evalLine } from "../../../scripts/lib/step-line.ts";
import { bootstrapMean } from "../../../src/engine/eval/bootstrap.ts";
import { differenceText, markedDifference, verdict } from "../../../src/engine/runs/evaluations/difference-text.ts";
import { EVAL_METRICS, type EvalReport } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { fewPicturesNotes } from "../../../src/engine/sweep/table.ts";

test("a difference over one picture has no interval, one over several has, and one of 0 is no change", () => {
  expect(markedDifference(bootstrapMean([0, 0], ["a", "b"], 1))).toBe("0.000 (no change)");
  expect(markedDifference(bootstrapMean([0.25, 0.75], ["a", "a"], 1))).toBe("+0.500 (no interval)");
  expect(markedDifference(bootstrapMean([0.25, 0.75], ["a", "b"], 1))).toBe("**+0.500 (+0.250 to +0.750)**");
});

test("without an interval no difference is called better, on the page as in the tables", () => {
  const one = bootstrapMean([0.25, 0.75], ["a", "a"], 1);
  expect([differenceText(one), verdict(one)]).toEqual(["+0.500 (no interval)", "open"]);
  const two = bootstrapMean([0.25, 0.75], ["a", "b"], 1);
  expect([differenceText(two), verdict(two)]).toEqual(["+0.500 (+0.250 to +0.750)", "better"]);
});

test("a sweep and the line of an evaluation say that the pictures are few", () => {
  const results = [9, 10].map((images) => ({ variant: `of ${images}`, images }));
  expect(fewPicturesNotes(results)).toEqual(["of 9: with fewer than 10 pictures no interval can be trusted"]);
  const each = <T>(value: T) => Object.fromEntries(EVAL_METRICS.map((metric) => [metric, value]));
  const report = {
    ...{ step: 4, n: 12, baseline: 0, selection: null, maskPolicy: "field" },
    means: each(0.5),
    ci: each([0.4, 0.6]),
    difference: each({ mean: 0.1, low: 0.1, high: 0.1 }),
  } as unknown as EvalReport;
  const line = evalLine({ report, pictures: 1 }, false);
  expect(line).toContain("grounding_iou 0.500 (no interval against step 0)");
  expect(line).toContain("with fewer than 10 pictures no interval can be trusted");
  expect(evalLine({ report, pictures: 10 }, false)).not.toContain("below 10");
});
