/** The suite of DLC-Bench against published runs and their standard errors. */
import type { SuiteScore } from "../../../src/plugins/suites/run-suite.ts";
import type { AnsweredItem } from "../../../src/plugins/suites/suite.ts";
import { CaseCheck } from "../case-check.ts";
import type { ParityRow } from "../row.ts";
import { type Json, object, objects, text } from "./golden.ts";
import { itemOf, scoresOf, suiteValues } from "./suite-values.ts";

const TOLERANCE = 1e-9;
/** Share by which half a resampled interval may differ from 1.96 standard errors. */
const NEAR = 0.12;

type Unit = "picture" | "object";

export function* dlcRows(json: Json): Iterable<ParityRow> {
  const runs = object(json.runs);
  const rowsOf = (name: string, by: Unit): AnsweredItem[] => {
    const { positive, negative } = object(runs[name]) as { positive: number[]; negative: number[] };
    return positive.map((value, at) => ({
      item: itemOf(by === "object" ? String(at) : String((json.images as unknown[])[at])),
      answer: {},
      judged: { positive: value, negative: negative[at] as number },
    }));
  };
  for (const [name, run] of Object.entries(runs)) {
    const expected = object(object(run).expected);
    const check = new CaseCheck(`dlc/scores.json ${name}`, TOLERANCE);
    yield check.run(() => {
      const { Pos, Neg, Avg } = suiteValues("dlc", rowsOf(name, "picture"));
      check.close("positive", expected.positive, Pos ?? null);
      check.close("negative", expected.negative, Neg ?? null);
      check.close("average", expected.benchmark, Avg ?? null);
    });
    const average = (by: Unit): SuiteScore => averageOf({ base: rowsOf(name, by) });
    yield errors(`${name} standard errors`, object(expected.benchmarkError), average);
  }
  for (const pair of objects(json.pairs)) {
    const [a, b] = [text(pair.a), text(pair.b)];
    const difference = (by: Unit): SuiteScore => averageOf({ base: rowsOf(a, by), adapter: rowsOf(b, by) });
    yield errors(`${b} - ${a}`, object(pair.bMinusA), difference);
  }
}

/** The average of one system, or the difference of two, with its interval. */
function averageOf(systems: Parameters<typeof scoresOf>[1]): SuiteScore {
  const { systems: each, difference } = scoresOf("dlc", systems);
  return (difference ?? each.base ?? []).find(({ metric }) => metric === "Avg") as SuiteScore;
}

function errors(name: string, wanted: Json, average: (by: Unit) => SuiteScore): ParityRow {
  const check = new CaseCheck(`dlc/scores.json ${name}`, TOLERANCE);
  return check.run(() => {
    const recorded = { picture: wanted.clusterStandardError, object: wanted.objectStandardError };
    for (const by of ["picture", "object"] as const) {
      const { value, low, high } = average(by);
      check.close("estimate", wanted.estimate, value);
      const share = (high - low) / (2 * 1.96 * Number(recorded[by]));
      check.equal(`width by ${by}`, true, Math.abs(share - 1) < NEAR, `${share}`);
    }
  });
}
