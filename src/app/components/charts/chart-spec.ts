import { bytes, compact, fixed } from "./format.ts";

/** Where a chart reads from: columns of one length over ascending steps; the live store and a stored run both fit. */
export interface MetricSource {
  readonly steps: ArrayLike<number>;
  /** Metrics logged so far. */
  readonly names: readonly string[];
  /** Values of a metric along `steps`, NaN where the step has none or it was not a number. */
  readonly column: (name: string) => ArrayLike<number>;
  /** Whether a NaN means that the step was logged without this metric. */
  readonly isMissing: (name: string, at: number) => boolean;
  /** Calls back after every appended step; returns the way to stop. */
  readonly subscribe: (changed: () => void) => () => void;
}

export interface SeriesSpec {
  /** Names the metric may have, best first. */
  readonly metrics: readonly string[];
  readonly label: string;
  /** Loop 1 is drawn solid and loop 2 dashed, besides their colours. */
  readonly loop: 1 | 2 | null;
  /** Place in the palette. */
  readonly colour: number;
  /** Scale on the right side, for a quantity of another size. */
  readonly right?: boolean;
  /** Digits after the point; "compact" for values of any size, "bytes" for amounts of memory. */
  readonly decimals: number | "compact" | "bytes";
}

/** Dashes of a line: loop 2 long, a single quantity of the right scale short, all others solid. */
export function dashOf(spec: SeriesSpec): readonly number[] {
  if (spec.loop === 2) return [6, 4];
  return spec.loop === null && spec.right === true ? [2, 3] : [];
}

/** A value as the series shows it everywhere. */
export function showValue(spec: SeriesSpec, value: number | null | undefined): string {
  if (spec.decimals === "bytes") return bytes(value);
  return spec.decimals === "compact" ? compact(value) : fixed(value, spec.decimals);
}

/** A bound on the left scale, drawn as a thin line across. */
export interface Level {
  readonly label: string;
  readonly value: number;
}

export interface ChartSpec {
  readonly id: string;
  readonly title: string;
  readonly series: readonly SeriesSpec[];
  /** Metrics that its help explains, where the names of the series are others. */
  readonly explains?: readonly string[];
  /** Limits the left scale keeps within view, such as 0..1 of a share. */
  readonly range?: readonly [number, number];
  readonly levels?: readonly Level[];
  /** The metric for which a person put it there. */
  readonly picked?: string;
}

/** A series with the values it found. */
export interface FoundSeries {
  readonly spec: SeriesSpec;
  readonly metric: string;
  readonly values: ArrayLike<number>;
}

/** The series of a chart that the source has, in order. */
export function findSeries(spec: ChartSpec, source: MetricSource): FoundSeries[] {
  const logged = new Set(source.names);
  return spec.series.flatMap((series) => {
    const metric = series.metrics.find((name) => logged.has(name));
    return metric === undefined ? [] : [{ spec: series, metric, values: source.column(metric) }];
  });
}

/** Limits that take in the levels which are near: a far one would flatten the curve, and the legend tells it. */
export function withLevels(low: number, high: number, levels: readonly Level[]): readonly [number, number] {
  let [least, most] = [low, high];
  for (const { value } of levels) {
    if (Math.max(high, value) - Math.min(low, value) > 2 * (high - low)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return [least, most];
}
