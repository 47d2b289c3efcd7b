/** What a chart draws of its series: lines, bands and limits, thinned to its width. */
import type uPlot from "uplot";
import type { Axis } from "../../../stores/route-text.ts";
import type { FoundSeries, MetricSource } from "../chart-spec.ts";
import { bandOver, innerLimits, rollingBand, windowOf } from "./bands.ts";
import { nonFinitePlaces, smooth } from "./smoothing.ts";
import { lowerBound, thinIndices } from "./thin.ts";

/** How curves are drawn: one choice for all charts, stored in the address. */
export interface ChartView {
  /** Weight of the smoothed line, 0..0.999; above 0 it is drawn over the faint raw line. */
  readonly smoothing: number;
  readonly axis: Axis;
  /** Draws minimum and maximum as an area: of the smoothed values, or over runs. */
  readonly band: boolean;
  /** Leaves outliers out of the limits of the vertical axis. */
  readonly clip: boolean;
}

/** What was drawn, for the badges beside the title. */
export interface Drawn {
  readonly thinned: boolean;
  readonly nonFinite: number;
  /** Points beyond the vertical limits. */
  readonly outside: number;
}

/** A step and its place in the columns of the source. */
export interface Cursor {
  readonly step: number;
  readonly at: number;
}

/** What a plot was last fed with. */
interface Fed {
  /** Step of each drawn point, and its place in the source. */
  readonly points: readonly Cursor[];
  /** Place of each step on the horizontal axis. */
  readonly placeOf: (step: number) => number | null;
  /** Limits without outliers, by scale. */
  readonly inner: Readonly<Record<ScaleName, readonly [number, number] | null>>;
}

export type ScaleName = "y" | "right";

const fed = new WeakMap<uPlot, Fed>();

export const scaleOf = ({ spec }: FoundSeries): ScaleName => (spec.right === true ? "right" : "y");

/** Lines that each series takes, the main one last. */
export interface Layers {
  readonly behind: "nothing" | "raw" | "band";
  /** Whether a band over all series follows them. */
  readonly overRuns: boolean;
  readonly each: number;
}

export function layersOf({ smoothing, band, runs }: ChartView & { readonly runs: boolean }): Layers {
  const behind = smoothing === 0 ? "nothing" : band && !runs ? "band" : "raw";
  return { behind, overRuns: band && runs, each: { nothing: 1, raw: 2, band: 3 }[behind] };
}

/** Passes the current values to the plot, thinned to its width within the zoom. */
export function feedPlot(
  plot: uPlot,
  source: MetricSource,
  found: readonly FoundSeries[],
  view: ChartView & { readonly runs: boolean },
  zoomed: readonly [number, number] | null,
): Drawn {
  const { steps, xs } = source;
  const layers = layersOf(view);
  const lines: ArrayLike<number>[] = [];
  let nonFinite = 0;
  for (const { metric, values } of found) {
    nonFinite += nonFinitePlaces(values, (at) => source.isMissing(metric, at)).length;
    if (layers.behind === "raw") lines.push(values);
    if (layers.behind === "band") {
      const { low, high } = rollingBand(values, windowOf(view.smoothing));
      lines.push(low, high);
    }
    lines.push(view.smoothing > 0 ? smooth(values, view.smoothing) : values);
  }
  if (layers.overRuns) {
    const main = found.flatMap((own, at) =>
      scaleOf(own) === "y" ? [lines[(at + 1) * layers.each - 1] as ArrayLike<number>] : [],
    );
    const { low, high } = bandOver(xs, main);
    lines.push(low, high);
  }
  const from = zoomed === null ? 0 : Math.max(0, lowerBound(xs, zoomed[0]) - 1);
  const to = zoomed === null ? xs.length : Math.min(xs.length, lowerBound(xs, zoomed[1]) + 2);
  const kept = thinIndices(lines, from, to, Math.max(50, Math.floor(plot.width)));
  const places = kept === null ? Array.from({ length: to - from }, (_, at) => from + at) : Array.from(kept);
  const pick = (values: ArrayLike<number>): number[] => places.map((at) => values[at] as number);
  // A step without the metric leaves the line whole; a value that is not finite breaks it.
  const points = (line: ArrayLike<number>, at: number): (number | null | undefined)[] => {
    const metric = found[Math.floor(at / layers.each)]?.metric;
    return places.map((place) => {
      const value = line[place] as number;
      if (Number.isFinite(value)) return value;
      return metric === undefined || source.isMissing(metric, place) ? undefined : null;
    });
  };
  const inside = (scale: ScaleName): readonly [number, number] | null => {
    if (!view.clip) return null;
    const own = found.filter((series) => scaleOf(series) === scale);
    const limits = own.flatMap(({ values }) => innerLimits(Array.prototype.slice.call(values, from, to)) ?? []);
    return limits.length === 0 ? null : [Math.min(...limits), Math.max(...limits)];
  };
  const now: Fed = {
    points: places.map((at) => ({ step: steps[at] as number, at })),
    placeOf: (step) => {
      const at = lowerBound(steps, step);
      return steps[at] === step ? (xs[at] as number) : null;
    },
    inner: { y: inside("y"), right: inside("right") },
  };
  fed.set(plot, now);
  plot.setData([pick(xs), ...lines.map(points)] as uPlot.AlignedData, zoomed === null);
  if (zoomed !== null) plot.setScale("x", { min: zoomed[0], max: zoomed[1] });
  return { thinned: kept !== null, nonFinite, outside: outsideOf(found, now, from, to) };
}

/** Values of the drawn steps that lie beyond the limits without outliers. */
function outsideOf(found: readonly FoundSeries[], { inner }: Fed, from: number, to: number): number {
  let count = 0;
  for (const own of found) {
    const limits = inner[scaleOf(own)];
    if (limits === null) continue;
    for (let at = from; at < to; at++) {
      const value = own.values[at] as number;
      if (value < limits[0] || value > limits[1]) count++;
    }
  }
  return count;
}

/** Limits of the data, without outliers if these are excluded. */
export function inner(
  plot: uPlot,
  scale: ScaleName,
  low: number | null,
  high: number | null,
): [number | null, number | null] {
  const limits = fed.get(plot)?.inner[scale] ?? null;
  return limits === null || low === null || high === null
    ? [low, high]
    : [Math.max(low, limits[0]), Math.min(high, limits[1])];
}

/** The step under the pointer; null without one. */
export function cursorOf(plot: uPlot): Cursor | null {
  const index = plot.cursor.idx;
  if (index === null || index === undefined || (plot.cursor.left ?? -1) < 0) return null;
  return fed.get(plot)?.points[index] ?? null;
}

/** Where a step lies on the horizontal axis, in pixels of the canvas; null out of sight. */
export function pixelOf(plot: uPlot, step: number): number | null {
  const place = fed.get(plot)?.placeOf(step) ?? null;
  if (place === null) return null;
  const { left, width } = plot.bbox;
  const x = Math.round(plot.valToPos(place, "x", true));
  return x >= left && x <= left + width ? x : null;
}
