import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import type { LoopId } from "../../../engine/runs/rollouts/records.ts";
import { compact, fixed, formatBytes } from "../../styles/format.ts";

/** Data source of a chart: columns of equal length over ascending steps, from the live store or a stored run. */
export interface MetricSource {
  readonly steps: ArrayLike<number>;
  /** Place of each step on the horizontal axis, ascending: the step itself, or its place from `alongAxis`. */
  readonly xs: ArrayLike<number>;
  /** Metrics logged so far. */
  readonly names: readonly string[];
  /** Values of a metric along `steps`; NaN if the step has no value or the value was NaN. */
  readonly column: (name: string) => ArrayLike<number>;
  /** Whether the step was logged without this metric. */
  readonly isMissing: (name: string, at: number) => boolean;
  /** Calls back after every appended step; returns the function that stops it. */
  readonly subscribe: (changed: () => void) => () => void;
}

export interface SeriesSpec {
  /** Possible names of the metric, preferred first. */
  readonly metrics: readonly string[];
  readonly label: string;
  /** Loop of the series: besides its colour, the first loop has solid lines, the others dashed. */
  readonly loop: LoopId | null;
  /** Dashes of the line; those of its loop by default. */
  readonly dash?: readonly number[];
  /** Index in the palette. */
  readonly colour: number;
  /** Whether the series uses the right scale, for values of another magnitude. */
  readonly right?: boolean;
  /** Digits after the point; "compact" for values of any magnitude, "bytes" for memory. */
  readonly decimals: number | "compact" | "bytes";
}

/** Dashes of the second loop and of those after it; lines of the first are solid. */
const LOOP_DASHES = [[], [6, 4], [2, 2]] as const;

/** Dashes of a line by its loop; without a loop, short dashes on the right scale, else solid. */
export function dashOf(spec: SeriesSpec): readonly number[] {
  if (spec.dash !== undefined) return spec.dash;
  if (spec.loop !== null) return LOOP_DASHES[LOOP_IDS.indexOf(spec.loop)] ?? [2, 2];
  return spec.right === true ? [2, 3] : [];
}

/** Formats a value of the series. */
export function showValue(spec: SeriesSpec, value: number | null | undefined): string {
  if (spec.decimals === "bytes") return formatBytes(value);
  return spec.decimals === "compact" ? compact(value) : fixed(value, spec.decimals);
}

/** A bound on the left scale, drawn as a thin horizontal line. */
export interface Level {
  readonly label: string;
  readonly value: number;
}

export interface ChartSpec {
  readonly id: string;
  readonly title: string;
  readonly series: readonly SeriesSpec[];
  /** Metrics that the help explains, if they differ from the names of the series. */
  readonly explains?: readonly string[];
  /** Values that the left scale always includes, such as 0..1 of a share. */
  readonly range?: readonly [number, number];
  readonly levels?: readonly Level[];
  /** Whether each line is another run. */
  readonly runs?: boolean;
  /** The metric, if the user added this chart. */
  readonly picked?: string;
}

/** A series with its values. */
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

/** Limits that include nearby levels. A distant level would flatten the curve; only the legend shows it. */
export function withLevels(low: number, high: number, levels: readonly Level[]): readonly [number, number] {
  let [least, most] = [low, high];
  for (const { value } of levels) {
    if (Math.max(high, value) - Math.min(low, value) > 2 * (high - low)) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return [least, most];
}

/** Whether the left scale, on which the series lies, counts bytes. */
export function isInBytes({ right, decimals }: SeriesSpec): boolean {
  return right !== true && decimals === "bytes";
}

/** Label of a tick: compact, without trailing zeros. */
export function tickText(value: number | null, inBytes: boolean): string {
  if (value === null) return "";
  if (inBytes) return formatBytes(value);
  const text = compact(value);
  return text.includes("e") || !text.includes(".") ? text : text.replace(/\.?0+$/u, "");
}
