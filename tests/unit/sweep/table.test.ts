import { expect, test } from "vitest";
import { evalLine } from "../../../scripts/lib/step-line.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { bootstrapMean } from "../../../src/engine/eval/bootstrap.ts";
import {
  differenceText,
  intervalJson,
  markedDifference,
  verdict,
} from "../../../src/engine/runs/evaluations/difference-text.ts";
import { EVAL_METRICS, type EvalReport, type RowScores } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { type DoneJob, variantResults } from "../../../src/engine/sweep/results.ts";
import { fewPicturesNotes, sweepTable } from "../../../src/engine/sweep/table.ts";
import { row } from "../runs/sample-evaluations.ts";

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

test("a small difference has as many decimals as its interval needs, a rounding error is no change", () => {
  expect(differenceText({ mean: 0.0131, low: 0.0002, high: 0.031 })).toBe("+0.0131 (+0.0002 to +0.0310)");
  expect(differenceText({ mean: 0.00012, low: 0.0000304, high: 0.0021 })).toBe("+0.00012 (+0.00003 to +0.00210)");
  expect(differenceText({ mean: -0.0004, low: -0.002, high: 0 })).toBe("0.000 (−0.002 to 0.000)");
  expect(differenceText({ mean: 0.0000023, low: -0.00087, high: 0.00075 })).toBe("0.00000 (−0.00087 to +0.00075)");
  const noise = { mean: 1e-17, low: 1e-18, high: 2e-17 };
  expect([differenceText(noise), verdict(noise)]).toEqual(["0.000 (no change)", "open"]);
});

test("in JSON the ends of an interval without spread are null", () => {
  const [one, two] = [
    ["a", "a"],
    ["a", "b"],
  ].map((images) => bootstrapMean([0.25, 0.75], images, 1));
  const ci = { loop1_greedy: [0.5, 0.5], loop1_sampled: [0.25, 0.75] };
  expect(JSON.parse(intervalJson({ seeds: [{ difference: one }], two, ci }))).toEqual({
    seeds: [{ difference: { mean: 0.5, low: null, high: null } }],
    two: { mean: 0.5, low: 0.25, high: 0.75 },
    ci: { loop1_greedy: [null, null], loop1_sampled: [0.25, 0.75] },
  });
});

test("a score that some rows lack is over the rows that have it in every run", () => {
  const scored = (values: readonly (number | null)[]): RowScores[] =>
    values.map((value, at) => row(String(at), 0, { rewards: { reward1_sampled: value } }));
  const done = (seed: number, ...values: (number | null)[][]): DoneJob => ({
    job: { name: `a ${seed}`, variant: "a", seed, config: defaultConfig() },
    run: "r",
    before: scored(values[0] ?? []),
    after: scored(values[1] ?? []),
    evaluations: [],
  });
  const [result] = variantResults(
    [done(1, [0.1, 0.2, 0.3, 9], [0.2, null, 0.6, 9]), done(2, [0.3, 9, 0.5, null], [0.5, 9, 0.9, 9])],
    ["reward1_sampled"],
  );
  expect(result?.metrics.reward1_sampled).toMatchObject({ rows: 2, start: expect.closeTo(0.3, 12) });
  expect(result?.metrics.reward1_sampled?.all?.mean).toBeCloseTo(0.25, 12);
  expect(sweepTable(result === undefined ? [] : [result], ["reward1_sampled"])).toContain("| 2 of 4 (2) | 0.300 |");
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
  expect(line).toContain("grounding_iou 0.500 from 0.400 at step 0 (no interval)");
  expect(line).toContain("with fewer than 10 pictures no interval can be trusted");
  expect(evalLine({ report, pictures: 10 }, false)).not.toContain("below 10");
});
