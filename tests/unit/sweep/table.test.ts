import { expect, test } from "vitest";
import { evalLine, intervalJson } from "../../../scripts/lib/step-line.ts";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { bootstrapMean } from "../../../src/engine/eval/bootstrap.ts";
import { differenceText, verdict } from "../../../src/engine/runs/evaluations/difference-text.ts";
import {
  EVAL_METRICS,
  type EvalReport,
  type Interval,
  type RowScores,
} from "../../../src/engine/runs/evaluations/evaluations.ts";
import { type DoneJob, variantResults } from "../../../src/plugins/sweep/results.ts";
import { fewPicturesNotes, markedDifference, sweepTable } from "../../../src/plugins/sweep/table.ts";
import { row } from "../runs/sample-evaluations.ts";

const over = (values: readonly number[], pictures: number): Interval =>
  bootstrapMean(
    values,
    values.map((_, at) => String(at % pictures)),
    1,
  );

test("a difference over one picture has no interval, one over several has, and one of 0 is no change", () => {
  expect(markedDifference(over([0, 0], 2), 10)).toBe("±0.000 (no change)");
  expect(markedDifference(over([0.25, 0.75], 1), 10)).toBe("+0.500 (no interval)");
  expect(markedDifference(over([0.25, 0.75], 2), 10)).toBe("**+0.500 (+0.250 to +0.750)**");
});

test("a difference is neither better nor worse without an interval or over fewer than ten pictures", () => {
  expect(verdict(over([0.25, 0.75], 1), 10)).toBe("open");
  const two = over([0.25, 0.75], 2);
  expect([9, 10].map((pictures) => verdict(two, pictures))).toEqual(["open", "better"]);
  expect(verdict({ low: -0.75, high: -0.25 }, 10)).toBe("worse");
  expect(markedDifference(two, 9)).toBe("+0.500 (+0.250 to +0.750)");
});

test("a difference and its interval have three decimals, and none is better or worse by less", () => {
  expect(differenceText({ mean: 0.0131, low: 0.0002, high: 0.031 })).toBe("+0.013 (±0.000 to +0.031)");
  expect(verdict({ low: 0.0002, high: 0.031 }, 10)).toBe("open");
  expect(differenceText({ mean: 0.0000018, low: -0.00087, high: 0.00075 })).toBe("±0.000 (−0.001 to +0.001)");
  expect(differenceText({ mean: -0.0004, low: -0.002, high: 0 })).toBe("±0.000 (−0.002 to ±0.000)");
  // No interval from ±0 to ±0.
  expect(differenceText({ mean: 0.00002, low: -0.0001, high: 0.0003 })).toBe("±0.000 (no change)");
  const worse = { mean: -0.013226, low: -0.047333, high: -0.000005 };
  expect([differenceText(worse), verdict(worse, 10)]).toEqual(["−0.013 (−0.047 to ±0.000)", "open"]);
  const noise = { mean: 1e-17, low: 1e-18, high: 2e-17 };
  expect([differenceText(noise), verdict(noise, 10)]).toEqual(["±0.000 (no change)", "open"]);
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
    reward: { judge: "none", scores: {} },
  } as unknown as EvalReport;
  const line = evalLine({ report, pictures: 1 }, false);
  expect(line).toContain("grounding_iou 0.500 from 0.400 at step 0, +0.100 (no interval)");
  expect(line).toContain("with fewer than 10 pictures no interval can be trusted");
  expect(evalLine({ report, pictures: 10 }, false)).not.toContain("below 10");
});
