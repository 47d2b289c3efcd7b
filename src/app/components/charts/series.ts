/** What a chart draws: series of metrics over an axis, from one run or several; smoothed and thinned for drawing. */

import { LOOP_IDS } from "../../../engine/rl/loops/abouts.ts";
import { describeMetric } from "../../../engine/runs/metrics/metric-table.ts";
import type { LoopId } from "../../../engine/runs/rollouts/records.ts";
import type { Axis } from "../../stores/route-text.ts";
import { compact, fixed, formatBytes, formatSeconds, sentence } from "../../styles/format.ts";

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
  /** Ends that the room around the values does not pass, such as 0 and 1 of a share; the scale where values differ by rounding only. */
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

const BYTE_UNITS: Readonly<Record<string, string>> = { "": " B", K: " kB", M: " MB", B: " GB", T: " TB" };

/** Label of a tick, with all its digits: a tick stands where its label says. */
export function tickText(value: number | null, inBytes: boolean): string {
  if (value === null) return "";
  const exact = Number(value.toPrecision(6));
  const size = Math.abs(exact);
  if (size !== 0 && size < 1e-4) return exact.toExponential().replaceAll("-", "−");
  const text = exact.toLocaleString("en-US", {
    notation: inBytes || size >= 1e4 ? "compact" : "standard",
    maximumSignificantDigits: 6,
    useGrouping: false,
  });
  const shown = text.replace("-", "−");
  return inBytes ? shown.replace(/[KMBT]?$/u, (unit) => BYTE_UNITS[unit] as string) : shown;
}

export const AXIS_NAMES: Readonly<Record<Axis, string>> = { step: "Steps", time: "Time", samples: "Samples" };

/** Label of a position on an axis. */
export function axisText(axis: Axis, x: number): string {
  if (axis === "time") return x < 60 ? `${Number(x.toFixed(2))} s` : formatSeconds(x).replace(/ 00 (s|min)$/, "");
  return x % 1 === 0 ? `${x}` : "";
}

/** Distances between labels: seconds, minutes and hours for time, whole numbers for counts. */
export function axisIncrements(axis: Axis): number[] {
  const tens = Array.from({ length: 10 }, (_, at) => 10 ** at);
  const whole = tens.flatMap((ten) => [ten, 2 * ten, 5 * ten]);
  if (axis !== "time") return whole;
  const day = 86_400;
  return [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 28_800, day, 2 * day];
}

/**
 * The source with the places of an axis as its `xs`: seconds of training (the sum of step_time, so without pauses) or
 * samples drawn (epoch × training rows). It is empty where the run did not log them.
 * @param trainRows training rows of the run; 0 where they are unknown
 */
export function alongAxis(source: MetricSource, axis: Axis, trainRows: number): MetricSource {
  if (axis === "step") return source;
  const known = (): boolean =>
    axis === "time" ? source.names.includes("step_time") : trainRows > 0 && source.names.includes("epoch");
  return {
    get steps() {
      return known() ? source.steps : [];
    },
    get names() {
      return source.names;
    },
    get xs() {
      if (!known()) return [];
      return axis === "time" ? sums(source.column("step_time")) : scaled(source.column("epoch"), trainRows);
    },
    column: (name) => (known() ? source.column(name) : []),
    isMissing: (name, at) => source.isMissing(name, at),
    subscribe: (changed) => source.subscribe(changed),
  };
}

/** Running sum; a missing value adds nothing. */
function sums(values: ArrayLike<number>): Float64Array {
  let sum = 0;
  return Float64Array.from(values, (value) => {
    sum += Number.isFinite(value) ? value : 0;
    return sum;
  });
}

/** Whole samples; a missing value repeats the one before. */
function scaled(values: ArrayLike<number>, by: number): Float64Array {
  let last = 0;
  return Float64Array.from(values, (value) => {
    if (Number.isFinite(value)) last = Math.round(value * by);
    return last;
  });
}

/**
 * Bias-corrected exponential mean, as in TensorBoard:
 * m ← w·m + (1 − w)·x, shown m / (1 − wⁿ) with n the count of finite points so far.
 * A point that is not finite is skipped and stays a gap; a constant series comes back unchanged.
 *
 * @param weight 0 (off) to 0.999
 */
export function smooth(values: ArrayLike<number>, weight: number): Float64Array<ArrayBuffer> {
  const smoothed = Float64Array.from(values);
  const w = Math.min(0.999, Math.max(0, weight));
  if (w === 0 || isConstant(values)) return smoothed;
  let [mean, correction] = [0, 1];
  for (let at = 0; at < smoothed.length; at++) {
    const value = smoothed[at] as number;
    if (!Number.isFinite(value)) continue;
    mean = w * mean + (1 - w) * value;
    correction *= w;
    smoothed[at] = mean / (1 - correction);
  }
  return smoothed;
}

/** Indices of measured values that are not finite; `isGap` excludes the NaN of a gap. */
export function nonFinitePlaces(values: ArrayLike<number>, isGap: (at: number) => boolean = () => false): number[] {
  const places: number[] = [];
  for (let at = 0; at < values.length; at++) {
    if (!Number.isFinite(values[at] as number) && !isGap(at)) places.push(at);
  }
  return places;
}

function isConstant(values: ArrayLike<number>): boolean {
  let first: number | null = null;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number;
    if (!Number.isFinite(value)) continue;
    if (first === null) first = value;
    else if (value !== first) return false;
  }
  return true;
}

/** First index whose x is at least `x`, in ascending `xs`; xs.length when there is none. */
export function lowerBound(xs: ArrayLike<number>, x: number): number {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** One sentence that describes a curve, for screen readers. */
export function describeSeries(label: string, steps: ArrayLike<number>, values: ArrayLike<number>): string {
  let [first, last] = [-1, -1];
  let [least, greatest] = [Infinity, -Infinity];
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number;
    if (!Number.isFinite(value)) continue;
    if (first < 0) first = at;
    last = at;
    least = Math.min(least, value);
    greatest = Math.max(greatest, value);
  }
  if (first < 0) return `${label} has no values`;
  const [start, end] = [values[first] as number, values[last] as number];
  if (first === last) return `${label} is ${compact(end)} at step ${steps[last]}`;
  const change = end === start ? "stays at" : end > start ? "rises to" : "falls to";
  const from = end === start ? "" : ` from ${compact(start)}`;
  return `${label} ${change} ${compact(end)}${from} between steps ${steps[first]} and ${steps[last]}, range ${compact(least)} to ${compact(greatest)}`;
}

/** Metrics that can be selected, sorted by name. @param shown names that have a chart already */
export function otherMetrics(logged: Iterable<string>, shown: Iterable<string>): readonly string[] {
  const left = new Set(shown);
  return [...new Set(logged)].filter((name) => name !== "step" && !left.has(name)).sort();
}

/** All metric names that the series of these charts use. */
export function metricsOf(specs: readonly ChartSpec[]): readonly string[] {
  return specs.flatMap(({ series }) => series.flatMap(({ metrics }) => metrics));
}

/** Abbreviations as they are written. */
const SHORT: Readonly<Record<string, string>> = { kl: "KL", gpu: "GPU", ema: "EMA", iou: "IoU" };

/** A metric's name as words: "loopN/completions/mean_length" is "Mean length, loop N". */
export function metricTitle(name: string): string {
  const [, loop, own = name] = /^loop(\d)\/(.+)$/u.exec(name) ?? [];
  const plain = own.replace(/^completions\//u, "").replace(/[/_]+/gu, " ");
  const words = sentence(plain.replace(/\b(?:kl|gpu|ema|iou)\b/gu, (short) => SHORT[short] as string));
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
