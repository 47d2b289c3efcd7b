import uPlot from "uplot";
import { compact, formatBytes } from "../../styles/format.ts";
import { dashOf, type FoundSeries, type Level, type MetricSource, withLevels } from "./chart-spec.ts";
import { LINE_COLOURS, type Theme } from "./palette.ts";
import { nonFinitePlaces, smooth } from "./smoothing.ts";
import { lowerBound, thinIndices } from "./thin.ts";
import { setSharedZoom } from "./zoom.ts";

export interface PlotSettings {
  readonly theme: Theme;
  /** 0 draws only the raw line; above 0, the smoothed line is drawn over the faint raw line. */
  readonly smoothing: number;
  readonly logarithmic: boolean;
  readonly range: readonly [number, number] | undefined;
  readonly levels: readonly Level[];
  readonly width: number;
  readonly height: number;
  /** Charts with the same name share cursor and zoom. */
  readonly sync: string;
  /** Step to mark; null for none. */
  readonly mark: () => number | null;
  readonly onPick: (step: number) => void;
  /** The step under the pointer; null when the pointer leaves. */
  readonly onCursor: (step: number | null) => void;
}

/** What was drawn, for the badges beside the title. */
export interface Drawn {
  readonly thinned: boolean;
  readonly nonFinite: number;
}

/** Per plot and series: which drawn points were measured. Distinguishes a gap from a non-finite value. */
const marks = new WeakMap<uPlot, readonly (readonly boolean[])[]>();

/** A second click within this time makes a double click. */
const DOUBLE_CLICK_MS = 300;

/** A plot with one raw and, when smoothing, one smooth line per series. */
export function createPlot(target: HTMLElement, found: readonly FoundSeries[], settings: PlotSettings): uPlot {
  const tokens = getComputedStyle(document.documentElement);
  const ink = { axis: tokens.getPropertyValue("--chart-axis"), grid: tokens.getPropertyValue("--chart-grid") };
  const colours = LINE_COLOURS[settings.theme];
  const smoothed = settings.smoothing > 0;
  const font = "11px system-ui, sans-serif";
  const inBytes = found.some(({ spec }) => spec.right !== true && spec.decimals === "bytes");
  const hasRight = found.some(({ spec }) => spec.right === true);
  const axis = { stroke: ink.axis, font, ticks: { show: false }, grid: { stroke: ink.grid, width: 1 } };
  const series: uPlot.Series[] = [{}];
  for (const { spec } of found) {
    const stroke = colours[spec.colour % colours.length] as string;
    const line: uPlot.Series = {
      label: spec.label,
      scale: spec.right === true ? "right" : "y",
      stroke,
      width: 1.6,
      points: { show: (plot) => plot.data[0].length < 2 },
      dash: [...dashOf(spec)],
    };
    if (smoothed) series.push({ ...line, stroke: `${stroke}55`, width: 1, dash: [] });
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
        y: { distr: settings.logarithmic ? 3 : 1, range: (_, low, high) => limits(low, high, settings) },
        ...(hasRight && {
          right: {
            distr: settings.logarithmic ? 3 : 1,
            range: (_: uPlot, low: number, high: number) =>
              limits(low, high, { ...settings, range: undefined, levels: [] }),
          },
        }),
      },
      axes: [
        {
          ...axis,
          size: 22,
          space: 60,
          values: (_, splits) => splits.map((value) => (value % 1 === 0 ? `${value}` : "")),
        },
        {
          ...axis,
          size: (_, labels) => Math.max(inBytes ? 62 : 46, labelWidth(labels)),
          space: 26,
          scale: "y",
          values: (_, splits) => splits.map((value) => tick(value, inBytes)),
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
                values: (_: uPlot, splits: number[]) => splits.map((value) => tick(value, false)),
              },
            ]
          : []),
      ],
      series,
      hooks: {
        draw: [
          (drawn) => drawLevels(drawn, settings.levels, ink.axis),
          (drawn) => drawMark(drawn, settings.mark(), ink.axis),
          (drawn) => drawNonFinite(drawn, found, colours, smoothed),
        ],
        setCursor: [(self) => settings.onCursor(stepAt(self))],
        setSelect: [
          (self) => {
            const { left, width } = self.select;
            if (width === 0) return;
            setSharedZoom(settings.sync, [self.posToVal(left, "x"), self.posToVal(left + width, "x")]);
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
    const step = stepAt(plot);
    clearTimeout(picking);
    // The first click of a double click does not leave the screen.
    if (step !== null && event.detail < 2 && Math.abs(event.clientX - pressed) < 5) {
      picking = setTimeout(() => settings.onPick(step), DOUBLE_CLICK_MS);
    }
  });
  plot.over.addEventListener("dblclick", () => setSharedZoom(settings.sync, null));
  return plot;
}

/** Passes the current values to the plot, thinned to its width within the zoom. */
export function feedPlot(
  plot: uPlot,
  source: MetricSource,
  found: readonly FoundSeries[],
  smoothing: number,
  zoomed: readonly [number, number] | null,
): Drawn {
  const { steps } = source;
  const lines: ArrayLike<number>[] = [];
  let nonFinite = 0;
  for (const { metric, values } of found) {
    nonFinite += nonFinitePlaces(values, (at) => source.isMissing(metric, at)).length;
    lines.push(values);
    if (smoothing > 0) lines.push(smooth(values, smoothing));
  }
  const from = zoomed === null ? 0 : Math.max(0, lowerBound(steps, zoomed[0]) - 1);
  const to = zoomed === null ? steps.length : Math.min(steps.length, lowerBound(steps, zoomed[1]) + 2);
  const kept = thinIndices(lines, from, to, Math.max(50, Math.floor(plot.width)));
  const pick = (values: ArrayLike<number>): number[] =>
    kept === null
      ? Array.from({ length: to - from }, (_, at) => values[from + at] as number)
      : Array.from(kept, (at) => values[at] as number);
  const gaps = (values: number[]): (number | null)[] => values.map((value) => (Number.isFinite(value) ? value : null));
  marks.set(
    plot,
    found.map(({ metric }) => pick(steps).map((_, at) => !source.isMissing(metric, kept?.[at] ?? from + at))),
  );
  const data: uPlot.AlignedData = [pick(steps), ...lines.map((line) => gaps(pick(line)))];
  plot.setData(data, zoomed === null);
  if (zoomed !== null) plot.setScale("x", { min: zoomed[0], max: zoomed[1] });
  return { thinned: kept !== null, nonFinite };
}

function stepAt(plot: uPlot): number | null {
  const index = plot.cursor.idx;
  if (index === null || index === undefined || (plot.cursor.left ?? -1) < 0) return null;
  return plot.data[0][index] ?? null;
}

function fillerData(length: number): uPlot.AlignedData {
  return Array.from({ length }, () => []) as unknown as uPlot.AlignedData;
}

/** Pixels that an axis needs for its labels, measured with digits, the widest characters in them. */
function labelWidth(labels: readonly string[] | null): number {
  return 14 + 6.2 * Math.max(0, ...(labels ?? []).map((label) => label.length));
}

function tick(value: number | null, inBytes: boolean): string {
  if (value === null) return "";
  if (inBytes) return formatBytes(value);
  const text = compact(value);
  return text.includes("e") || !text.includes(".") ? text : text.replace(/\.?0+$/u, "");
}

function limits(least: number | null, most: number | null, settings: PlotSettings): uPlot.Range.MinMax {
  if (least === null || most === null) return settings.logarithmic ? [0.1, 1] : [0, 1];
  const [low, high] = withLevels(least, most, settings.levels);
  if (settings.logarithmic) {
    const floor = Math.max(low, 1e-9);
    return [floor * 0.8, Math.max(high, floor) * 1.25];
  }
  if (high === low && settings.range !== undefined && low >= settings.range[0] && high <= settings.range[1]) {
    return [settings.range[0], settings.range[1]];
  }
  const room = high === low ? Math.max(Math.abs(high) * 0.1, 0.01) : (high - low) * 0.08;
  const [lowest, greatest] = settings.range ?? [-Infinity, Infinity];
  return [Math.max(low - room, Math.min(lowest, low)), Math.min(high + room, Math.max(greatest, high))];
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
  if (step === null) return;
  const { left, top, width, height } = plot.bbox;
  const x = Math.round(plot.valToPos(step, "x", true));
  if (x >= left && x <= left + width) drawLine(plot, [x, top], [x, top + height], colour);
}

type Point = readonly [x: number, y: number];

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
function drawNonFinite(
  plot: uPlot,
  found: readonly FoundSeries[],
  colours: readonly string[],
  smoothed: boolean,
): void {
  const { ctx } = plot;
  const size = 4 * uPlot.pxRatio;
  found.forEach(({ spec }, index) => {
    const line = plot.data[1 + index * (smoothed ? 2 : 1)];
    if (line === undefined) return;
    let last: number | null = null;
    for (let at = 0; at < line.length; at++) {
      const value = line[at];
      if (value !== null && value !== undefined) {
        last = value;
        continue;
      }
      if (last === null || marks.get(plot)?.[index]?.[at] !== true) continue;
      const x = plot.valToPos(plot.data[0][at] as number, "x", true);
      const y = plot.valToPos(last, spec.right === true ? "right" : "y", true);
      ctx.beginPath();
      ctx.moveTo(x, y - size);
      ctx.lineTo(x + size, y + size);
      ctx.lineTo(x - size, y + size);
      ctx.closePath();
      ctx.fillStyle = colours[spec.colour % colours.length] as string;
      ctx.fill();
    }
  });
}
