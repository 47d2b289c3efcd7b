/** Scores over pictures with their intervals, compared with exact arithmetic and all draws of few pictures. */

import { isRecord } from "../../../src/engine/bytes/json.ts";
import { bootstrapClusters, type ClusterStatistic, clustersBy, ratio } from "../../../src/engine/eval/bootstrap.ts";
import type { Interval } from "../../../src/engine/runs/evaluations/evaluations.ts";
import { CaseCheck } from "../case-check.ts";
import type { ParityRow } from "../row.ts";
import { type Json, number, object, objects, text } from "./golden.ts";
import { checkBounds, everyDraw } from "./resamples.ts";

const TOLERANCE = 1e-9;

export function* clusterRows(json: Json): Iterable<ParityRow> {
  for (const item of objects(json.cases)) {
    const check = new CaseCheck(`stats/cluster.json ${text(item.name)}`, TOLERANCE);
    yield check.run(() => {
      const rows = objects(item.rows);
      const clusters = clustersBy(rows.map(({ image }) => text(image)));
      const [a, b] = [ratio(rows, clusters, (row) => part(row.a)), ratio(rows, clusters, (row) => part(row.b))];
      const difference: ClusterStatistic = (drawn) => b(drawn) - a(drawn);
      const expected = object(item.expected);
      const { length } = clusters.names;
      compare(check, item.kind === "mean" ? expected : object(expected.difference), length, difference);
      if (item.kind === "mean") return;
      compare(check, object(expected.a), length, a);
      compare(check, object(expected.b), length, b);
    });
  }
}

/** A mean uses the value and a count of 1; pixel counts are numerator and denominator. */
function part(value: unknown): { readonly sum: number; readonly weight: number } {
  if (typeof value === "number") return { sum: value, weight: 1 };
  const { i, u } = object(value);
  return { sum: number(i), weight: number(u) };
}

function compare(check: CaseCheck, wanted: Json, count: number, statistic: ClusterStatistic): void {
  const interval = bootstrapClusters(count, 1, [statistic])[0] as Interval;
  check.close("estimate", wanted.estimate, interval.mean);
  if (!isRecord(wanted.exactBootstrap)) return;
  const all = everyDraw(count).map(statistic);
  const average = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const mean = average(all);
  check.close("mean of all draws", wanted.exactBootstrap.mean, mean);
  check.close("variance of all draws", wanted.exactBootstrap.variance, average(all.map((one) => (one - mean) ** 2)));
  checkBounds(check, all, interval);
}
