import {
  type ComponentProps,
  type ReactNode,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import type uPlot from "uplot";
import { toggleIn, useRoute } from "../../stores/route.ts";
import type { Axis } from "../../stores/route-text.ts";
import { compact } from "../../styles/format.ts";
import "uplot/dist/uPlot.min.css";
import type { StepNote } from "../../../engine/runs/notes.ts";
import { report } from "../../clients/lab.ts";
import { saveBlob } from "../../clients/save-blob.ts";
import { IconEnlarge } from "../ui/icons.tsx";
import { copyPanel } from "../ui/panel/panel-picture.ts";
import { cancelRedraw, requestRedraw } from "./chart-clock.ts";
import { ChartHelp } from "./chart-help.tsx";
import { ChartMenu } from "./chart-menu.tsx";
import { type ChartSpec, dashOf, type FoundSeries, findSeries, type MetricSource, showValue } from "./chart-spec.ts";
import { ChartTable } from "./chart-table.tsx";
import styles from "./live-chart.module.css";
import { axisText } from "./plot/axis.ts";
import { currentTheme, LINE_COLOURS, onThemeChange, type Theme } from "./plot/palette.ts";
import { createPlot } from "./plot/plot.ts";
import { type ChartView, type Cursor, type Drawn, feedPlot } from "./plot/plot-feed.ts";
import { plotSvg } from "./plot/plot-svg.ts";
import { describeSeries } from "./plot/summary.ts";
import { lowerBound } from "./plot/thin.ts";
import { zoomOf } from "./plot/zoom.ts";

export interface LiveChartProps {
  readonly spec: ChartSpec;
  readonly source: MetricSource;
  readonly view: ChartView;
  readonly sync: string;
  /** Step of the time line, marked by a line; null for none. */
  readonly step?: number | null;
  readonly notes?: readonly StepNote[];
  /** Pixels of the plot. */
  readonly height?: number;
  readonly onPick: (step: number) => void;
  /** Removes the chart; only for charts that the user added. */
  readonly onRemove?: () => void;
  /** Moves the chart by places among the others. */
  readonly onMove?: (by: -1 | 1) => void;
  /** Called when another chart is dropped on this one. */
  readonly onTake?: (id: string) => void;
  readonly onEnlarge?: () => void;
}

const HEIGHT = 146;
/** Data type of a dragged chart; the data is the chart's id. */
const DRAGGED = "text/x-chart";
const NO_NOTES: readonly StepNote[] = [];

/** A live curve: reads the metrics store outside React, redraws only while visible. */
export function LiveChart(props: LiveChartProps): ReactNode {
  const { spec, source, view, sync, step = null, notes = NO_NOTES, height = HEIGHT, onPick } = props;
  const holder = useRef<HTMLDivElement>(null);
  const titleId = useId();
  const theme = useSyncExternalStore(onThemeChange, currentTheme);
  const table = useRoute((route) => route.tables.includes(spec.id));
  const logarithmic = useRoute((route) => route.log.includes(spec.id));
  const [found, setFound] = useState<readonly FoundSeries[]>(() => findSeries(spec, source));
  const [drawn, setDrawn] = useState<Drawn>({ thinned: false, nonFinite: 0, outside: 0 });
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const [under, setUnder] = useState(false);
  const pick = useRef(onPick);
  pick.current = onPick;
  const zoom = useRoute((route) => route.zoom);
  const marked = useRef({ step, notes, zoom });
  const drawing = useRef<uPlot>(null);
  const redraw = useRef<() => void>(() => {});
  // The plot is rebuilt only for new metrics, not for new values.
  const shape = found.map(({ metric }) => metric).join(" ");
  const runs = spec.runs === true;

  useEffect(() => {
    const element = holder.current;
    if (table) return followTable(source, () => setFound(findSeries(spec, source)));
    if (element === null) return;
    let plot: uPlot | null = null;
    let visible = false;
    const build = (series: readonly FoundSeries[]): uPlot =>
      createPlot(element, series, {
        ...view,
        theme,
        runs,
        logarithmic,
        range: spec.range,
        levels: spec.levels ?? [],
        width: Math.max(120, element.clientWidth),
        height,
        sync,
        mark: () => marked.current.step,
        flags: () => marked.current.notes.map((note) => note.step),
        onPick: (at) => pick.current(at),
        onCursor: setCursor,
      });
    const draw = (): void => {
      if (!visible) return;
      const now = findSeries(spec, source);
      setFound(now);
      if (now.length === 0 || now.map(({ metric }) => metric).join(" ") !== shape) return;
      plot ??= build(now);
      drawing.current = plot;
      const result = feedPlot(plot, source, now, { ...view, runs }, zoomOf(marked.current.zoom, sync));
      setDrawn((before) => (DRAWN.every((key) => before[key] === result[key]) ? before : result));
    };
    const ask = (): void => requestRedraw(draw);
    redraw.current = ask;
    const stop = source.subscribe(ask);
    const sight = new IntersectionObserver((entries) => {
      visible = entries.some((entry) => entry.isIntersecting);
      if (visible) ask();
    });
    const size = new ResizeObserver(() => {
      plot?.setSize({ width: Math.max(120, element.clientWidth), height });
      ask();
    });
    sight.observe(element);
    size.observe(element);
    return () => {
      stop();
      cancelRedraw(draw);
      sight.disconnect();
      size.disconnect();
      plot?.destroy();
      drawing.current = null;
    };
  }, [spec, source, view, runs, height, sync, theme, logarithmic, table, shape]);

  useEffect(() => {
    marked.current = { step, notes, zoom };
    redraw.current();
  }, [step, notes, zoom]);

  const summary = useMemo(
    () =>
      found.length === 0
        ? ""
        : [
            ...found.map(({ spec: series, values }) => describeSeries(series.label, source.steps, values)),
            ...(spec.levels ?? []).map(({ label, value }) => `${label} ${compact(value)}`),
          ].join("; "),
    [found, source, spec],
  );
  return (
    <section
      className={`column-flex min-0 framed surface ${styles.chart}`}
      aria-labelledby={titleId}
      data-testid={`chart-${spec.id}`}
      data-under={under}
      onDragStart={(event) => event.dataTransfer.setData(DRAGGED, spec.id)}
      onDragOver={(event) => {
        if (props.onTake === undefined || !event.dataTransfer.types.includes(DRAGGED)) return;
        event.preventDefault();
        setUnder(true);
      }}
      onDragLeave={() => setUnder(false)}
      onDrop={(event) => {
        const id = event.dataTransfer.getData(DRAGGED);
        if (id === "") return;
        event.preventDefault();
        setUnder(false);
        if (id !== spec.id) props.onTake?.(id);
      }}
    >
      <header className={`row ${styles.header}`} draggable={props.onTake !== undefined}>
        <h2 id={titleId} className={`clip bold ellipsis nowrap ${styles.title}`} title={spec.picked ?? spec.title}>
          {spec.title}
        </h2>
        <ChartHelp title={spec.title} metrics={spec.explains ?? spec.series.map((series) => series.metrics[0] ?? "")} />
        <span className={`flex tiny muted grow ${styles.marks}`}>
          {drawn.nonFinite > 0 && (
            <span className="bad" title="Values that are not finite numbers">
              ▲ {drawn.nonFinite}
            </span>
          )}
          {drawn.outside > 0 && (
            <span title="Outliers beyond the vertical range; turn off their exclusion under Curves to show them">
              {drawn.outside} outside
            </span>
          )}
          {drawn.thinned && (
            <span title="All points are kept; the chart draws the minimum and maximum per pixel">thinned</span>
          )}
        </span>
        <span className={`row ${styles.tools}`} data-copies>
          <Tool aria-pressed={logarithmic} title="Logarithmic scale" onClick={() => toggleIn("log", spec.id)}>
            log
          </Tool>
          <Tool aria-pressed={table} title="Values as a table" onClick={() => toggleIn("tables", spec.id)}>
            table
          </Tool>
          {props.onEnlarge !== undefined && (
            <Tool aria-label={`Enlarge ${spec.title}`} title="Enlarge" onClick={props.onEnlarge}>
              <IconEnlarge size={12} />
            </Tool>
          )}
          <ChartMenu
            title={spec.picked ?? spec.title}
            onCopy={() => {
              const panel = holder.current?.closest("section");
              if (panel) report(copyPanel(panel));
            }}
            onSvg={() => {
              const plot = drawing.current;
              if (plot === null) return;
              const text = plotSvg(plot, spec, { ...view, runs });
              saveBlob(new Blob([text], { type: "image/svg+xml" }), `${spec.id.replace(/[^\w-]+/g, "-")}.svg`);
            }}
            drawn={found.length > 0 && !table}
            onMove={props.onMove}
            onRemove={props.onRemove}
          />
        </span>
      </header>
      <Legend
        found={found}
        spec={spec}
        source={source}
        cursor={cursor}
        step={step}
        notes={notes}
        axis={view.axis}
        theme={theme}
      />
      {table ? (
        <ChartTable found={found} source={source} height={height} onPick={onPick} />
      ) : (
        <div className="relative">
          <div
            ref={holder}
            className={`full-width clip ${styles.plot}`}
            style={{ height }}
            role="img"
            aria-label={summary === "" ? `${spec.title}: no values` : summary}
          />
          {found.length === 0 && <p className={`grid small muted absolute ${styles.empty}`}>No values</p>}
        </div>
      )}
    </section>
  );
}

const DRAWN = ["thinned", "nonFinite", "outside"] as const;

/** A small button of the chart's header. */
function Tool(props: ComponentProps<"button">): ReactNode {
  return <button type="button" className={styles.tool} {...props} />;
}

/** Updates a table as often as the charts redraw. */
function followTable(source: MetricSource, refresh: () => void): () => void {
  const stop = source.subscribe(() => requestRedraw(refresh));
  requestRedraw(refresh);
  return () => {
    stop();
    cancelRedraw(refresh);
  };
}

interface LegendProps {
  readonly found: readonly FoundSeries[];
  readonly spec: ChartSpec;
  readonly source: MetricSource;
  readonly cursor: Cursor | null;
  /** Step of the time line. */
  readonly step: number | null;
  readonly notes: readonly StepNote[];
  readonly axis: Axis;
  readonly theme: Theme;
}

/** Line sample, label, and the value at the cursor, else at the step of the time line, else the newest one. */
function Legend({ found, spec, source, cursor, step, notes, axis, theme }: LegendProps): ReactNode {
  const newest = source.steps.length - 1;
  const place = cursor?.at ?? (step === null ? null : Math.min(newest, lowerBound(source.steps, step)));
  const note = notes.find((one) => one.step === cursor?.step)?.text;
  return (
    <ul className={`flex wrap small muted relative p-0 no-bullets ${styles.legend}`}>
      {spec.series.map((series) => {
        const own = found.find((candidate) => candidate.spec === series);
        if (own === undefined && found.length > 0) return null;
        const colour = LINE_COLOURS[theme][series.colour % 6] as string;
        const value =
          own === undefined ? undefined : valueAt(own, source, place, axis !== "step" && spec.runs === true);
        return (
          <li key={`${series.metrics[0]} ${series.label}`} className="row nowrap">
            <svg width="18" height="8" aria-hidden="true">
              <line
                x1="0"
                x2="18"
                y1="4"
                y2="4"
                stroke={colour}
                strokeWidth="2"
                strokeDasharray={dashOf(series).join(" ")}
              />
            </svg>
            <span>{series.label}</span>
            <b>{showValue(series, value)}</b>
          </li>
        );
      })}
      {spec.levels?.map(({ label, value }) => (
        <li key={label} className="row nowrap">
          <svg width="18" height="8" aria-hidden="true">
            <line x1="0" x2="18" y1="4" y2="4" stroke="var(--chart-axis)" strokeWidth="1" />
          </svg>
          <span>{label}</span>
          <b>{compact(value)}</b>
        </li>
      ))}
      <li className={`row nowrap ${styles.step}`}>
        {cursor === null
          ? ""
          : `step ${cursor.step}${axis === "step" ? "" : ` · ${axisText(axis, source.xs[cursor.at] ?? 0)}`}`}
        {note !== undefined && <b> {note}</b>}
      </li>
    </ul>
  );
}

/**
 * The value at a place, null if the run has none; the newest value if no place is given.
 * @param earlier uses the last value before the place if the run has none there
 */
function valueAt(own: FoundSeries, source: MetricSource, at: number | null, earlier = false): number | null {
  const { metric, values } = own;
  let place = at ?? values.length - 1;
  if (at === null || earlier) while (place > 0 && source.isMissing(metric, place)) place--;
  return source.isMissing(metric, place) ? null : (values[place] ?? null);
}
