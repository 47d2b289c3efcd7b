/** Charts of metrics that the user selects, in addition to the default charts of a screen. */
import { describeMetric } from "../../../engine/runs/metrics/metric-table.ts";
import type { ChartSpec, MetricSource, SeriesSpec } from "./chart-spec.ts";

/** Metrics that can be selected, sorted by name. @param shown names that have a chart already */
export function otherMetrics(logged: Iterable<string>, shown: Iterable<string>): readonly string[] {
  const left = new Set(shown);
  return [...new Set(logged)].filter((name) => name !== "step" && !left.has(name)).sort();
}

/** All metric names that the series of these charts use. */
export function metricsOf(specs: readonly ChartSpec[]): readonly string[] {
  return specs.flatMap(({ series }) => series.flatMap(({ metrics }) => metrics));
}

/** A metric's name as words: "loopN/completions/mean_length" is "mean length, loop N". */
export function metricTitle(name: string): string {
  const [, loop, own = name] = /^loop(\d)\/(.+)$/u.exec(name) ?? [];
  const words = own.replace(/^completions\//u, "").replace(/[/_]+/gu, " ");
  return loop === undefined ? words : `${words}, loop ${loop}`;
}

/** Chart of one metric of one run: colour and dash show the loop, the legend shows the unit. */
export function metricChart(name: string): ChartSpec {
  const known = describeMetric(name);
  const unit = known?.unit ?? "";
  const loop = known?.loop ?? null;
  const isShare = unit.startsWith("share");
  const series: SeriesSpec = {
    metrics: [name],
    label: loop !== null ? `loop ${loop}` : unit === "" || isShare || unit === "0 or 1" ? "value" : unit,
    loop,
    colour: loop === null ? 0 : loop - 1,
    decimals: unit === "bytes" ? "bytes" : known !== undefined && known.decimals < 4 ? known.decimals : "compact",
  };
  return {
    id: `metric-${name}`,
    // The legend shows the loop; the title must fit a quarter of the screen.
    title: metricTitle(name).replace(/, loop \d$/u, ""),
    series: [series],
    picked: name,
    ...(isShare ? { range: [0, 1] } : {}),
  };
}

/** Metrics logged so far, one per line: a string stays equal until a new metric appears. */
export function loggedText({ names }: Pick<MetricSource, "names">): string {
  return names.join("\n");
}
