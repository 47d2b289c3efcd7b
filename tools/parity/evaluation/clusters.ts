/** Standard errors over pictures against exact arithmetic and published runs. */
import {
  type Cluster,
  clustersOf,
  type Estimate,
  linearised,
  linearisedDifference,
} from "../../../src/engine/eval/benchmarks/clusters.ts";
import { CaseCheck } from "../case-check.ts";
import type { ParityRow } from "../row.ts";
import { type Json, number, object, objects, text } from "./golden.ts";

const TOLERANCE = 1e-9;

export function* clusterRows(json: Json): Iterable<ParityRow> {
  for (const item of objects(json.cases)) {
    const check = new CaseCheck(`stats/cluster.json ${text(item.name)}`, TOLERANCE);
    yield check.run(() => {
      const clusters = (system: "a" | "b"): Cluster[] =>
        clustersOf(objects(item.rows).map((row) => ({ image: text(row.image), ...clusterOf(row[system]) })));
      const [a, b] = [clusters("a"), clusters("b")];
      const expected = object(item.expected);
      const difference = item.kind === "mean" ? expected : object(expected.difference);
      compare(check, difference, linearisedDifference(a, b));
      if (item.kind === "mean") return;
      compare(check, object(expected.a), linearised(a));
      compare(check, object(expected.b), linearised(b));
    });
  }
}

/** A value of a mean counts once; pixel counts are numerator and denominator. */
function clusterOf(value: unknown): Cluster {
  if (typeof value === "number") return { sum: value, weight: 1 };
  const { i, u } = object(value);
  return { sum: number(i), weight: number(u) };
}

function compare(check: CaseCheck, wanted: Json, { estimate, variance }: Estimate): void {
  check.close("estimate", wanted.estimate, estimate);
  check.close("variance", wanted.linearisedVariance, variance);
}

/** Standard errors of DLC-Bench by picture and by object. */
export function* dlcErrorRows(json: Json): Iterable<ParityRow> {
  const images = (json.images as unknown[]).map(String);
  const runs = object(json.runs);
  const rowsOf = (run: unknown, by: "picture" | "object"): Cluster[] => {
    const { positive, negative } = object(run) as { positive: number[]; negative: number[] };
    const rows = positive.map((value, at) => ({
      image: by === "picture" ? (images[at] as string) : String(at),
      sum: (value + (negative[at] as number)) / 2,
      weight: 1,
    }));
    return clustersOf(rows);
  };
  for (const [name, run] of Object.entries(runs)) {
    const check = new CaseCheck(`dlc/scores.json ${name} standard errors`, TOLERANCE);
    const wanted = object(object(object(run).expected).benchmarkError);
    yield check.run(() => errors(check, wanted, (by) => linearised(rowsOf(run, by))));
  }
  for (const pair of objects(json.pairs)) {
    const [a, b] = [text(pair.a), text(pair.b)];
    const check = new CaseCheck(`dlc/scores.json ${b} - ${a}`, TOLERANCE);
    yield check.run(() =>
      errors(check, object(pair.bMinusA), (by) => linearisedDifference(rowsOf(runs[a], by), rowsOf(runs[b], by))),
    );
  }
}

function errors(check: CaseCheck, wanted: Json, estimate: (by: "picture" | "object") => Estimate): void {
  const root = ({ variance }: Estimate): number | null => (variance === null ? null : Math.sqrt(variance));
  check.close("estimate", wanted.estimate, estimate("picture").estimate);
  check.close("by picture", wanted.clusterStandardError, root(estimate("picture")));
  check.close("by object", wanted.objectStandardError, root(estimate("object")));
}
