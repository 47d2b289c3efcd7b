/** A plot of the page as an SVG document. */
import type uPlot from "uplot";
import { type ChartSpec, isInBytes, tickText } from "../chart-spec.ts";
import { AXIS_NAMES, axisIncrements, axisText } from "./axis.ts";
import { chartSvg, type SvgLine, type SvgScale } from "./chart-svg.ts";
import { LINE_COLOURS } from "./palette.ts";
import { type ChartView, layersOf } from "./plot-feed.ts";

/** Labels on an axis. */
const MOST_TICKS = 7;
/** Labels in a decade of a logarithmic scale, the fewest first. */
const LOG_SIZES = [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]] as const;

/** What the plot draws now: range, zoom, smoothing, bands; in the colours of the light theme. */
export function plotSvg(plot: uPlot, spec: ChartSpec, view: ChartView & { readonly runs: boolean }): string {
  const { each } = layersOf(view);
  const shown = plot.series.slice(1).map((series, at) => {
    const stroke = (typeof series.stroke === "function" ? series.stroke(plot, at + 1) : series.stroke) as string;
    return {
      edge: series.width === 0,
      label: typeof series.label === "string" ? series.label : "",
      colour: onWhite(stroke),
      dash: series.dash ?? [],
      width: series.width ?? 1,
      right: series.scale === "right",
      named: (at + 1) % each === 0,
      values: plot.data[at + 1] as SvgLine["values"],
    };
  });
  const upward = (name: "y" | "right"): SvgScale | null => {
    const { min, max, distr } = plot.scales[name] ?? {};
    if (min == null || max == null) return null;
    const logarithmic = distr === 3;
    const inBytes = name === "y" && spec.series.some(isInBytes);
    return { min, max, logarithmic, ticks: ticksOf(min, max, logarithmic, null, (value) => tickText(value, inBytes)) };
  };
  const { min, max } = plot.scales.x ?? {};
  const [from, to] = [min ?? 0, max ?? 1];
  const incs = axisIncrements(view.axis);
  return chartSvg({
    title: spec.title,
    xName: AXIS_NAMES[view.axis],
    xs: plot.data[0] as readonly number[],
    x: { min: from, max: to, ticks: ticksOf(from, to, false, incs, (value) => axisText(view.axis, value)) },
    y: upward("y") ?? { min: 0, max: 1, ticks: [] },
    right: upward("right"),
    lines: shown.filter(({ edge }) => !edge),
    // Both edges of a band follow each other, the lower one first.
    bands: shown.flatMap((low, at) => {
      const high = shown[at + 1];
      if (!low.edge || high === undefined || shown.slice(0, at).filter(({ edge }) => edge).length % 2 === 1) return [];
      return [{ colour: low.colour, right: low.right, low: low.values, high: high.values }];
    }),
  });
}

/**
 * Round tick values between two limits; on a logarithmic scale the powers of ten, or more ticks if fewer than two fit.
 * @param increments allowed distances; null for any
 */
export function ticksOf(
  min: number,
  max: number,
  logarithmic: boolean,
  increments: readonly number[] | null,
  text: (value: number) => string,
): SvgScale["ticks"] {
  const told = (at: number) => ({ at, text: text(at) });
  if (logarithmic) {
    const first = Math.floor(Math.log10(min));
    const tens = Array.from({ length: Math.ceil(Math.log10(max)) - first + 1 }, (_, at) => first + at);
    const within = (sizes: readonly number[]): readonly number[] =>
      tens.flatMap((ten) => sizes.map((size) => Number(`${size}e${ten}`))).filter((at) => at >= min && at <= max);
    const places = LOG_SIZES.map(within);
    return (places.find(({ length }) => length > 1) ?? places.at(-1) ?? []).map(told);
  }
  const ten = 10 ** Math.floor(Math.log10((max - min || 1) / MOST_TICKS));
  const sizes = increments ?? [ten, 2 * ten, 5 * ten, 10 * ten];
  const size = sizes.find((one) => (max - min) / one <= MOST_TICKS) ?? max - min;
  const first = Math.ceil(min / size);
  const count = Math.max(0, Math.floor(max / size) - first + 1);
  return Array.from({ length: count }, (_, at) => told(Number(((first + at) * size).toPrecision(12))));
}

/** The light theme's colour of a line, with its opacity. */
function onWhite(colour: string): string {
  const at = LINE_COLOURS.dark.indexOf(colour.slice(0, 7));
  return at < 0 ? colour : `${LINE_COLOURS.light[at] as string}${colour.slice(7)}`;
}
