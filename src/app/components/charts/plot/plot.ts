import uPlot from "uplot";
import { dashOf, type FoundSeries, isInBytes, type Level, tickText, withLevels } from "../chart-spec.ts";
import { axisIncrements, axisText } from "./axis.ts";
import { LINE_COLOURS, type Theme } from "./palette.ts";
import { type ChartView, type Cursor, cursorOf, inner, layersOf, type ScaleName, scaleOf } from "./plot-feed.ts";
import { drawFlags, drawLevels, drawMark, drawNonFinite } from "./plot-marks.ts";
import { setZoom } from "./zoom.ts";

export interface PlotSettings extends ChartView {
  readonly theme: Theme;
  readonly logarithmic: boolean;
  /** Whether each line is another run, so that a band spans them. */
  readonly runs: boolean;
  readonly range: readonly [number, number] | undefined;
  readonly levels: readonly Level[];
  readonly width: number;
  readonly height: number;
  /** Charts with the same name share cursor and zoom. */
  readonly sync: string;
  /** Step to mark; null for none. */
  readonly mark: () => number | null;
  /** Steps with a note. */
  readonly flags: () => readonly number[];
  readonly onPick: (step: number) => void;
  /** The step under the pointer and its place in the source; null when the pointer leaves. */
  readonly onCursor: (cursor: Cursor | null) => void;
}

/** A second click within this time makes a double click. */
const DOUBLE_CLICK_MS = 300;

/** A plot with one raw and, when smoothing, one smooth line per series. */
export function createPlot(target: HTMLElement, found: readonly FoundSeries[], settings: PlotSettings): uPlot {
  const tokens = getComputedStyle(document.documentElement);
  const ink = { axis: tokens.getPropertyValue("--chart-axis"), grid: tokens.getPropertyValue("--chart-grid") };
  const colours = LINE_COLOURS[settings.theme];
  const layers = layersOf(settings);
  const font = "11px system-ui, sans-serif";
  const inBytes = found.some(({ spec }) => isInBytes(spec));
  const hasRight = found.some(({ spec }) => spec.right === true);
  const axis = { stroke: ink.axis, font, ticks: { show: false }, grid: { stroke: ink.grid, width: 1 } };
  const series: uPlot.Series[] = [{}];
  const bands: uPlot.Band[] = [];
  const area = (colour: string, scale: ScaleName): void => {
    const edge: uPlot.Series = { label: "", scale, stroke: colour, width: 0, points: { show: false } };
    bands.push({ series: [series.length + 1, series.length], fill: `${colour}2e` });
    series.push({ ...edge }, { ...edge });
  };
  for (const own of found) {
    const stroke = colours[own.spec.colour % colours.length] as string;
    const line: uPlot.Series = {
      label: own.spec.label,
      scale: scaleOf(own),
      stroke,
      width: 1.6,
      points: { show: (plot) => plot.data[0].length < 2 },
      dash: [...dashOf(own.spec)],
    };
    if (layers.behind === "band") area(stroke, scaleOf(own));
    else if (layers.behind === "raw") series.push({ ...line, stroke: `${stroke}55`, width: 1, dash: [] });
    series.push(line);
  }
  if (layers.overRuns) area(ink.axis.trim(), "y");
  const plot = new uPlot(
    {
      width: settings.width,
      height: settings.height,
      padding: [8, hasRight ? 0 : 10, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: settings.sync, setSeries: false },
        drag: { x: true, y: false, dist: 6, setScale: false },
        points: { size: 7 },
        y: false,
      },
      scales: {
        x: { time: false },
        y: {
          distr: settings.logarithmic ? 3 : 1,
          range: (self, low, high) => limits(...inner(self, "y", low, high), settings),
        },
        ...(hasRight && {
          right: {
            distr: settings.logarithmic ? 3 : 1,
            range: (self: uPlot, low: number, high: number) =>
              limits(...inner(self, "right", low, high), { ...settings, range: undefined, levels: [] }),
          },
        }),
      },
      axes: [
        {
          ...axis,
          size: 22,
          space: 60,
          incrs: axisIncrements(settings.axis),
          values: (_, splits) => splits.map((value) => axisText(settings.axis, value)),
        },
        {
          ...axis,
          size: (_, labels) => Math.max(inBytes ? 62 : 46, labelWidth(labels)),
          space: 26,
          scale: "y",
          values: (_, splits) => once(splits.map((value) => tickText(value, inBytes))),
        },
        ...(hasRight
          ? [
              {
                ...axis,
                size: (_: uPlot, labels: string[] | null) => Math.max(48, labelWidth(labels)),
                space: 26,
                side: 1 as const,
                scale: "right",
                grid: { show: false },
                values: (_: uPlot, splits: number[]) => once(splits.map((value) => tickText(value, false))),
              },
            ]
          : []),
      ],
      series,
      bands,
      hooks: {
        draw: [
          (drawn) => drawLevels(drawn, settings.levels, ink.axis),
          (drawn) => drawMark(drawn, settings.mark(), ink.axis),
          (drawn) => drawFlags(drawn, settings.flags(), tokens.getPropertyValue("--accent")),
          (drawn) => drawNonFinite(drawn, found, colours, layers),
        ],
        setCursor: [(self) => settings.onCursor(cursorOf(self))],
        setSelect: [
          (self) => {
            const { left, width } = self.select;
            if (width === 0) return;
            setZoom(settings.sync, [self.posToVal(left, "x"), self.posToVal(left + width, "x")]);
            self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    },
    fillerData(series.length),
    target,
  );
  let pressed = 0;
  let picking: ReturnType<typeof setTimeout> | undefined;
  plot.over.addEventListener("mousedown", (event) => {
    pressed = event.clientX;
  });
  plot.over.addEventListener("click", (event) => {
    const step = cursorOf(plot)?.step ?? null;
    clearTimeout(picking);
    // Waits for a second click, because the first click of a double click must not leave the screen.
    if (step !== null && event.detail < 2 && Math.abs(event.clientX - pressed) < 5) {
      picking = setTimeout(() => settings.onPick(step), DOUBLE_CLICK_MS);
    }
  });
  plot.over.addEventListener("dblclick", () => setZoom(settings.sync, null));
  return plot;
}

function fillerData(length: number): uPlot.AlignedData {
  return Array.from({ length }, () => []) as unknown as uPlot.AlignedData;
}

/** Blanks repeated labels, where ticks are closer than the digits shown. */
function once(labels: readonly string[]): string[] {
  return labels.map((label, at) => (label === labels[at - 1] ? "" : label));
}

/** Pixels that an axis needs for its labels, measured with digits, the widest characters in them. */
function labelWidth(labels: readonly string[] | null): number {
  return 14 + 6.2 * Math.max(0, ...(labels ?? []).map((label) => label.length));
}

/** Ends of a vertical axis over values from `least` to `most`; null for no values. */
export function limits(
  least: number | null,
  most: number | null,
  settings: Pick<PlotSettings, "logarithmic" | "range" | "levels">,
): [number, number] {
  if (least === null || most === null) return settings.logarithmic ? [0.1, 1] : [0, 1];
  const [low, high] = withLevels(least, most, settings.levels);
  if (settings.logarithmic) {
    const floor = Math.max(low, 1e-9);
    return [floor * 0.8, Math.max(high, floor) * 1.25];
  }
  const [lowest, greatest] = settings.range ?? [-Infinity, Infinity];
  if (settings.range !== undefined) {
    // Differences this small are rounding, not a curve.
    const rounding = 1e-5 * (greatest - lowest);
    if (high - low <= rounding && low >= lowest - rounding && high <= greatest + rounding) return [lowest, greatest];
  }
  const room = high === low ? Math.max(Math.abs(high) * 0.1, 0.01) : (high - low) * 0.08;
  return [Math.max(low - room, Math.min(lowest, low)), Math.min(high + room, Math.max(greatest, high))];
}
