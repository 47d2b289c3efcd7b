/** A plot of series on a canvas: theme, when it is redrawn, zoom, data, and what is drawn over the lines. */
import uPlot from "uplot";
import { navigate, useRoute } from "../../stores/route.ts";
import type { Axis } from "../../stores/route-text.ts";
import { cancelDraw, drawSoon } from "../in-parts.tsx";
import {
  axisIncrements,
  axisText,
  dashOf,
  type FoundSeries,
  isInBytes,
  type Level,
  lowerBound,
  type MetricSource,
  nonFinitePlaces,
  type SeriesSpec,
  smooth,
  tickText,
  withLevels,
} from "./series.ts";

/** The theme that is shown; the frame writes it on the root. */
export function currentTheme(): string {
  return document.documentElement.dataset.theme ?? "light";
}

/** Calls back when the theme changes; returns the function that stops it. */
export function onThemeChange(changed: () => void): () => void {
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => observer.disconnect();
}

/** Number of line colours, `--run-1` to `--run-6`, in the same hue order in both themes; distinguishable with colour blindness. */
const LINE_COLOURS = 6;

/** A series' line colour, as a CSS value. */
export const lineColour = ({ colour }: SeriesSpec): string => `var(--run-${(colour % LINE_COLOURS) + 1})`;

/** Colours by theme and CSS value: the browser computes the styles of the page for each that it is asked for. */
const computed = new Map<string, string>();

/** A CSS colour as it is shown now; a canvas knows no variables. */
function shown(colour: string, beside: HTMLElement): string {
  const key = `${currentTheme()} ${colour}`;
  const known = computed.get(key);
  if (known !== undefined) return known;
  beside.style.color = colour;
  const now = getComputedStyle(beside).color;
  beside.style.color = "";
  computed.set(key, now);
  return now;
}

/** Milliseconds between redraws of all charts; a hidden page gets none. */
const INTERVAL = 250;

const waiting = new Set<() => void>();
let scheduled = false;
let last = 0;

/** Requests a redraw; further requests before it happens change nothing. */
export function requestRedraw(draw: () => void): void {
  waiting.add(draw);
  if (scheduled) return;
  scheduled = true;
  setTimeout(flush, Math.max(0, last + INTERVAL - performance.now()));
}

/** Cancels the request of a chart that was removed. */
export function cancelRedraw(draw: () => void): void {
  waiting.delete(draw);
  cancelDraw(draw);
}

function flush(): void {
  scheduled = false;
  last = performance.now();
  for (const draw of waiting) drawSoon(draw);
  waiting.clear();
}

type Range = readonly [from: number, to: number];

/** Zooms all charts of a name; null resets the zoom. */
export function setZoom(name: string, range: Range | null): void {
  navigate({ zoom: range === null ? null : `${range.map((place) => place.toFixed(2)).join("-")}@${name}` });
}

/** What the charts of a name are zoomed to, such as "12–40"; null for all. */
export function useZoomText(name: string, axis: Axis): string | null {
  const range = zoomOf(
    useRoute((route) => route.zoom),
    name,
  );
  return range === null ? null : `${axisText(axis, Math.ceil(range[0]))}–${axisText(axis, Math.floor(range[1]))}`;
}

/** The range in the address if it belongs to these charts: other runs have other steps. */
export function zoomOf(text: string | null, name: string): Range | null {
  const found = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)@(.*)$/.exec(text ?? "");
  if (found === null || found[3] !== name) return null;
  const [from, to] = [Number(found[1]), Number(found[2])];
  return from < to ? [from, to] : null;
}

/** How curves are drawn: one choice for all charts, stored in the address. */
export interface ChartView {
  /** Weight of the smoothed line, 0..0.999; above 0 it is drawn over the faint raw line. */
  readonly smoothing: number;
  readonly axis: Axis;
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
}

const fed = new WeakMap<uPlot, Fed>();

const scaleOf = ({ spec }: FoundSeries): "y" | "right" => (spec.right === true ? "right" : "y");

/** Lines that each series takes, the main one last: smoothing leaves the raw line behind it. */
const linesEach = ({ smoothing }: ChartView): number => (smoothing === 0 ? 1 : 2);

/** Passes the current values to the plot. @returns the values that are not finite numbers */
export function feedPlot(
  plot: uPlot,
  source: MetricSource,
  found: readonly FoundSeries[],
  view: ChartView,
  zoomed: readonly [number, number] | null,
): number {
  const { steps, xs } = source;
  const each = linesEach(view);
  const lines: ArrayLike<number>[] = [];
  let nonFinite = 0;
  for (const { metric, values } of found) {
    nonFinite += nonFinitePlaces(values, (at) => source.isMissing(metric, at)).length;
    if (each === 2) lines.push(values);
    lines.push(smooth(values, view.smoothing));
  }
  const places = Array.from(xs, (_, at) => at);
  // A step without the metric leaves the line whole; a value that is not finite breaks it.
  const points = (line: ArrayLike<number>, at: number): (number | null | undefined)[] => {
    const metric = found[Math.floor(at / each)]?.metric;
    return places.map((place) => {
      const value = line[place] as number;
      if (Number.isFinite(value)) return value;
      return metric === undefined || source.isMissing(metric, place) ? undefined : null;
    });
  };
  fed.set(plot, {
    points: places.map((at) => ({ step: steps[at] as number, at })),
    placeOf: (step) => {
      const at = lowerBound(steps, step);
      return steps[at] === step ? (xs[at] as number) : null;
    },
  });
  plot.setData([Array.from(xs), ...lines.map(points)] as uPlot.AlignedData, zoomed === null);
  if (zoomed !== null) plot.setScale("x", { min: zoomed[0], max: zoomed[1] });
  return nonFinite;
}

/** The step under the pointer; null without one. */
function cursorOf(plot: uPlot): Cursor | null {
  const index = plot.cursor.idx;
  if (index === null || index === undefined || (plot.cursor.left ?? -1) < 0) return null;
  return fed.get(plot)?.points[index] ?? null;
}

/** Where a step lies on the horizontal axis, in pixels of the canvas; null out of sight. */
function pixelOf(plot: uPlot, step: number): number | null {
  const place = fed.get(plot)?.placeOf(step) ?? null;
  if (place === null) return null;
  const { left, width } = plot.bbox;
  const x = Math.round(plot.valToPos(place, "x", true));
  return x >= left && x <= left + width ? x : null;
}

/** Thin horizontal lines at the visible levels. */
function drawLevels(plot: uPlot, levels: readonly Level[], colour: string): void {
  const { left, top, width, height } = plot.bbox;
  for (const { value } of levels) {
    const y = Math.round(plot.valToPos(value, "y", true));
    if (y >= top && y <= top + height) drawLine(plot, [left, y], [left + width, y], colour);
  }
}

/** A thin vertical line at a visible step. */
function drawMark(plot: uPlot, step: number | null, colour: string): void {
  const x = step === null ? null : pixelOf(plot, step);
  const { top, height } = plot.bbox;
  if (x !== null) drawLine(plot, [x, top], [x, top + height], colour);
}

/** A pole with a small flag at each visible step that has a note. */
function drawFlags(plot: uPlot, steps: readonly number[], colour: string): void {
  const { top, height } = plot.bbox;
  const size = 6 * uPlot.pxRatio;
  for (const step of steps) {
    const x = pixelOf(plot, step);
    if (x === null) continue;
    drawLine(plot, [x, top], [x, top + height], colour);
    fillShape(
      plot,
      [
        [x, top],
        [x + 1.5 * size, top + size / 2],
        [x, top + size],
      ],
      colour,
    );
  }
}

type Point = readonly [x: number, y: number];

function fillShape({ ctx }: uPlot, corners: readonly Point[], colour: string): void {
  ctx.beginPath();
  for (const corner of corners) ctx.lineTo(...corner);
  ctx.fillStyle = colour;
  ctx.fill();
}

function drawLine({ ctx }: uPlot, from: Point, to: Point, colour: string): void {
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = uPlot.pxRatio;
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(...from);
  ctx.lineTo(...to);
  ctx.stroke();
  ctx.restore();
}

/** A small triangle at the last finite value before each value that is not a number. */
function drawNonFinite(plot: uPlot, found: readonly FoundSeries[], strokes: readonly string[], each: number): void {
  const size = 4 * uPlot.pxRatio;
  found.forEach(({ spec }, index) => {
    const line = plot.data[(index + 1) * each];
    if (line === undefined) return;
    let last: number | null = null;
    for (let at = 0; at < line.length; at++) {
      const value = line[at];
      if (value !== null && value !== undefined) {
        last = value;
        continue;
      }
      if (last === null || value === undefined) continue;
      const x = plot.valToPos(plot.data[0][at] as number, "x", true);
      const y = plot.valToPos(last, spec.right === true ? "right" : "y", true);
      fillShape(
        plot,
        [
          [x, y - size],
          [x + size, y + size],
          [x - size, y + size],
        ],
        strokes[index] as string,
      );
    }
  });
}

interface PlotSettings extends ChartView {
  readonly logarithmic: boolean;
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
  const ink = { axis: shown("var(--chart-axis)", target), grid: shown("var(--chart-grid)", target) };
  const accent = shown("var(--accent)", target);
  const strokes = found.map(({ spec }) => shown(lineColour(spec), target));
  const each = linesEach(settings);
  const font = "11px system-ui, sans-serif";
  const inBytes = found.some(({ spec }) => isInBytes(spec));
  const hasRight = found.some(({ spec }) => spec.right === true);
  const axis = { stroke: ink.axis, font, ticks: { show: false }, grid: { stroke: ink.grid, width: 1 } };
  const vertical = (scale: "y" | "right", bytes: boolean, least: number): uPlot.Axis => ({
    ...axis,
    scale,
    size: (_, labels) => Math.max(least, labelWidth(labels)),
    space: 26,
    values: (_, splits) => splits.map((value) => tickText(value, bytes)),
  });
  const bounded = (within: Pick<PlotSettings, "logarithmic" | "range" | "levels">): uPlot.Scale => ({
    distr: settings.logarithmic ? 3 : 1,
    range: (_, low, high) => limits(low, high, within),
  });
  const series: uPlot.Series[] = [{}];
  for (const [at, own] of found.entries()) {
    const stroke = strokes[at] as string;
    const line: uPlot.Series = {
      label: own.spec.label,
      scale: scaleOf(own),
      stroke,
      width: 1.6,
      points: { show: (plot) => plot.data[0].length < 2 },
      dash: [...dashOf(own.spec)],
    };
    if (each === 2)
      series.push({ ...line, stroke: `color-mix(in srgb, ${stroke} 33%, transparent)`, width: 1, dash: [] });
    series.push(line);
  }
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
        y: bounded(settings),
        ...(hasRight && { right: bounded({ ...settings, range: undefined, levels: [] }) }),
      },
      axes: [
        {
          ...axis,
          size: 22,
          space: settings.axis === "time" ? 60 : 36,
          incrs: axisIncrements(settings.axis),
          values: (_, splits) => splits.map((value) => axisText(settings.axis, value)),
        },
        vertical("y", inBytes, inBytes ? 62 : 46),
        ...(hasRight ? [{ ...vertical("right", false, 48), side: 1 as const, grid: { show: false } }] : []),
      ],
      series,
      hooks: {
        draw: [
          (drawn) => drawLevels(drawn, settings.levels, ink.axis),
          (drawn) => drawMark(drawn, settings.mark(), ink.axis),
          (drawn) => drawFlags(drawn, settings.flags(), accent),
          (drawn) => drawNonFinite(drawn, found, strokes, each),
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
  const room = high === low ? Math.abs(high) * 0.1 || 0.01 : (high - low) * 0.08;
  return [Math.max(low - room, Math.min(lowest, low)), Math.min(high + room, Math.max(greatest, high))];
}
