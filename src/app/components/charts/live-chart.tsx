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
import { compact } from "../../styles/format.ts";
import "uplot/dist/uPlot.min.css";
import { IconClose } from "../ui/icons.tsx";
import { cancelRedraw, requestRedraw } from "./chart-clock.ts";
import { ChartHelp } from "./chart-help.tsx";
import { type ChartSpec, dashOf, type FoundSeries, findSeries, type MetricSource, showValue } from "./chart-spec.ts";
import { ChartTable } from "./chart-table.tsx";
import { CopyPicture } from "./copy-button.tsx";
import styles from "./live-chart.module.css";
import { currentTheme, LINE_COLOURS, onThemeChange, type Theme } from "./palette.ts";
import { createPlot, type Drawn, feedPlot } from "./plot.ts";
import { describeSeries } from "./summary.ts";
import { sharedZoom } from "./zoom.ts";

export interface LiveChartProps {
  readonly spec: ChartSpec;
  readonly source: MetricSource;
  /** Weight of the smoothed line, 0..0.999. */
  readonly smoothing: number;
  readonly sync: string;
  /** Step of the time line, marked by a line; null for none. */
  readonly step?: number | null;
  /** A point was clicked. */
  readonly onPick: (step: number) => void;
  /** Removes the chart; only for charts that the user added. */
  readonly onRemove?: () => void;
}

const HEIGHT = 146;

/** A live curve: reads the metrics store outside React, redraws only while visible. */
export function LiveChart({ spec, source, smoothing, sync, step = null, onPick, onRemove }: LiveChartProps): ReactNode {
  const holder = useRef<HTMLDivElement>(null);
  const titleId = useId();
  const theme = useTheme();
  const [logarithmic, setLogarithmic] = useState(false);
  const [table, setTable] = useState(false);
  const [found, setFound] = useState<readonly FoundSeries[]>(() => findSeries(spec, source));
  const [drawn, setDrawn] = useState<Drawn>({ thinned: false, nonFinite: 0 });
  const [cursor, setCursor] = useState<number | null>(null);
  const pick = useRef(onPick);
  pick.current = onPick;
  const marked = useRef(step);
  const redraw = useRef<() => void>(() => {});
  // The plot is rebuilt only for new metrics, not for new values.
  const shape = found.map(({ metric }) => metric).join(" ");

  useEffect(() => {
    const element = holder.current;
    if (table) return followTable(source, () => setFound(findSeries(spec, source)));
    if (element === null) return;
    let plot: uPlot | null = null;
    const zoom = sharedZoom(sync);
    let visible = false;
    const build = (series: readonly FoundSeries[]): uPlot =>
      createPlot(element, series, {
        theme,
        smoothing,
        logarithmic,
        range: spec.range,
        levels: spec.levels ?? [],
        width: Math.max(120, element.clientWidth),
        height: HEIGHT,
        sync,
        mark: () => marked.current,
        onPick: (at) => pick.current(at),
        onCursor: setCursor,
      });
    const draw = (): void => {
      if (!visible) return;
      const now = findSeries(spec, source);
      setFound(now);
      if (now.length === 0 || now.map(({ metric }) => metric).join(" ") !== shape) return;
      plot ??= build(now);
      const result = feedPlot(plot, source, now, smoothing, zoom.range);
      setDrawn((before) =>
        before.thinned === result.thinned && before.nonFinite === result.nonFinite ? before : result,
      );
    };
    const ask = (): void => requestRedraw(draw);
    redraw.current = ask;
    const stop = source.subscribe(ask);
    zoom.listeners.add(ask);
    const sight = new IntersectionObserver((entries) => {
      visible = entries.some((entry) => entry.isIntersecting);
      if (visible) ask();
    });
    const size = new ResizeObserver(() => {
      plot?.setSize({ width: Math.max(120, element.clientWidth), height: HEIGHT });
      ask();
    });
    sight.observe(element);
    size.observe(element);
    return () => {
      stop();
      zoom.listeners.delete(ask);
      cancelRedraw(draw);
      sight.disconnect();
      size.disconnect();
      plot?.destroy();
    };
  }, [spec, source, smoothing, sync, theme, logarithmic, table, shape]);

  useEffect(() => {
    marked.current = step;
    redraw.current();
  }, [step]);

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
    >
      <header className={`row ${styles.header}`}>
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
          {drawn.thinned && (
            <span title="All points are kept; the chart draws the minimum and maximum per pixel">thinned</span>
          )}
        </span>
        <span className={`row ${styles.tools}`}>
          <Tool aria-pressed={logarithmic} title="Logarithmic scale" onClick={() => setLogarithmic(!logarithmic)}>
            log
          </Tool>
          <Tool aria-pressed={table} title="Values as a table" onClick={() => setTable(!table)}>
            table
          </Tool>
          {found.length > 0 && !table && (
            <CopyPicture
              title={spec.title}
              className={styles.tool}
              lines={() => found.map((own) => `${own.spec.label} ${showValue(own.spec, valueAt(own, source, null))}`)}
              canvas={() => holder.current?.querySelector("canvas") ?? null}
            />
          )}
          {onRemove !== undefined && (
            <Tool aria-label={`Remove ${spec.picked ?? spec.title}`} title="Remove this chart" onClick={onRemove}>
              <IconClose size={12} />
            </Tool>
          )}
        </span>
      </header>
      <Legend found={found} spec={spec} source={source} cursor={cursor} step={step} theme={theme} />
      {table ? (
        <ChartTable found={found} steps={source.steps} height={HEIGHT} onPick={onPick} />
      ) : (
        <div className="relative">
          <div
            ref={holder}
            className={`full-width clip ${styles.plot}`}
            style={{ height: HEIGHT }}
            role="img"
            aria-label={summary === "" ? `${spec.title}: no values yet` : summary}
          />
          {found.length === 0 && <p className={`grid small muted absolute ${styles.empty}`}>No values yet</p>}
        </div>
      )}
    </section>
  );
}

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
  readonly cursor: number | null;
  /** Step of the time line. */
  readonly step: number | null;
  readonly theme: Theme;
}

/** Line sample, label, and the value at the cursor, else at the step of the time line, else the newest one. */
function Legend({ found, spec, source, cursor, step, theme }: LegendProps): ReactNode {
  return (
    <ul className={`flex wrap small muted relative p-0 no-bullets ${styles.legend}`} data-empty={found.length === 0}>
      {spec.series.map((series) => {
        const own = found.find((candidate) => candidate.spec === series);
        if (own === undefined && found.length > 0) return null;
        const colour = LINE_COLOURS[theme][series.colour % 6] as string;
        const value = own === undefined ? undefined : valueAt(own, source, cursor ?? step);
        return (
          <li key={`${series.metrics[0]} ${series.label}`}>
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
      {found.length > 0 &&
        spec.levels?.map(({ label, value }) => (
          <li key={label}>
            <svg width="18" height="8" aria-hidden="true">
              <line x1="0" x2="18" y1="4" y2="4" stroke="var(--chart-axis)" strokeWidth="1" />
            </svg>
            <span>{label}</span>
            <b>{compact(value)}</b>
          </li>
        ))}
      <li className={styles.step}>{cursor === null ? "" : `step ${cursor}`}</li>
    </ul>
  );
}

/** The value at the cursor's step, null where the run has none; without a cursor the newest one. */
function valueAt({ metric, values }: FoundSeries, source: MetricSource, cursor: number | null): number | null {
  let place = cursor === null ? values.length - 1 : indexOfStep(source.steps, cursor);
  if (cursor === null) while (place > 0 && source.isMissing(metric, place)) place--;
  return source.isMissing(metric, place) ? null : (values[place] ?? null);
}

function indexOfStep(steps: ArrayLike<number>, step: number): number {
  let [low, high] = [0, steps.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((steps[middle] as number) < step) low = middle + 1;
    else high = middle;
  }
  return low;
}

function useTheme(): Theme {
  return useSyncExternalStore(onThemeChange, currentTheme);
}
