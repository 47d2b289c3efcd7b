/** Live curves: one chart, the charts of a screen side by side, and the badge of their zoom. */
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
import "uplot/dist/uPlot.min.css";
import { describeMetric } from "../../../engine/runs/metrics/metric-table.ts";
import type { StepNote } from "../../../engine/runs/notes.ts";
import { report } from "../../clients/lab.ts";
import { navigate, toggleLog, useRoute } from "../../stores/route.ts";
import type { Axis } from "../../stores/route-text.ts";
import { compact } from "../../styles/format.ts";
import { Button } from "../ui/button.tsx";
import { IconClose, IconEnlarge, IconMore } from "../ui/icons.tsx";
import { Menu } from "../ui/menu.tsx";
import { Dialog } from "../ui/overlays.tsx";
import { Popup } from "../ui/panel/panel-button.tsx";
import { copyPanel } from "../ui/panel/panel-picture.ts";
import { useVisibleBox } from "../use-async.ts";
import styles from "./charts.module.css";
import {
  type ChartView,
  type Cursor,
  cancelRedraw,
  createPlot,
  currentTheme,
  feedPlot,
  lineColour,
  onThemeChange,
  requestRedraw,
  setZoom,
  useZoomText,
  zoomOf,
} from "./plot.ts";
import {
  AXIS_NAMES,
  axisText,
  type ChartSpec,
  dashOf,
  describeSeries,
  type FoundSeries,
  findSeries,
  lowerBound,
  type MetricSource,
  showValue,
} from "./series.ts";

interface LiveChartProps {
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
  readonly onEnlarge?: () => void;
}

const HEIGHT = 146;
const NO_NOTES: readonly StepNote[] = [];

/** A live curve: reads the metrics store outside React, redraws only while visible. */
export function LiveChart(props: LiveChartProps): ReactNode {
  const { spec, source, view, sync, step = null, notes = NO_NOTES, height = HEIGHT, onPick } = props;
  const holder = useRef<HTMLDivElement>(null);
  const titleId = useId();
  const theme = useSyncExternalStore(onThemeChange, currentTheme);
  const logarithmic = useRoute((route) => route.log.includes(spec.id));
  const [found, setFound] = useState<readonly FoundSeries[]>(() => findSeries(spec, source));
  const [nonFinite, setNonFinite] = useState(0);
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const pick = useRef(onPick);
  pick.current = onPick;
  const zoom = useRoute((route) => route.zoom);
  const box = useVisibleBox(holder);
  const marked = useRef({ box, step, notes, zoom });
  const redraw = useRef<() => void>(() => {});
  // The plot is rebuilt only for new metrics, not for new values.
  const shape = found.map(({ metric }) => metric).join(" ");

  // biome-ignore lint/correctness/useExhaustiveDependencies: another theme needs other colours
  useEffect(() => {
    const element = holder.current;
    if (element === null) return;
    let plot: uPlot | null = null;
    const draw = (): void => {
      const visible = marked.current.box;
      if (visible === null) return;
      const now = findSeries(spec, source);
      setFound(now);
      if (now.length === 0 || now.map(({ metric }) => metric).join(" ") !== shape) return;
      const width = Math.max(120, visible.width);
      plot ??= createPlot(element, now, {
        ...view,
        logarithmic,
        range: spec.range,
        levels: spec.levels ?? [],
        width,
        height,
        sync,
        mark: () => marked.current.step,
        flags: () => marked.current.notes.map((note) => note.step),
        onPick: (at) => pick.current(at),
        onCursor: setCursor,
      });
      if (plot.width !== width) plot.setSize({ width, height });
      setNonFinite(feedPlot(plot, source, now, view, zoomOf(marked.current.zoom, sync)));
    };
    redraw.current = () => requestRedraw(draw);
    redraw.current();
    const stop = source.subscribe(redraw.current);
    return () => {
      stop();
      cancelRedraw(draw);
      plot?.destroy();
    };
  }, [spec, source, view, height, sync, theme, logarithmic, shape]);

  useEffect(() => {
    marked.current = { box, step, notes, zoom };
    redraw.current();
  }, [box, step, notes, zoom]);

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
      <header className={`row gap-6px ${styles.header}`}>
        <h2 id={titleId} className={`bold anywhere ${styles.title}`} title={spec.picked ?? spec.title}>
          {spec.title}
        </h2>
        <ChartHelp title={spec.title} metrics={spec.explains ?? spec.series.map((series) => series.metrics[0] ?? "")} />
        <span className={`flex tiny muted grow ${styles.marks}`}>
          {nonFinite > 0 && (
            <span className="bad" title="Values that are not finite numbers">
              ▲ {nonFinite}
            </span>
          )}
        </span>
        <span className={`row ${styles.tools}`} data-copies>
          <Tool aria-pressed={logarithmic} title="Logarithmic scale" onClick={() => toggleLog(spec.id)}>
            log
          </Tool>
          {props.onEnlarge !== undefined && (
            <Tool aria-label={`Enlarge ${spec.title}`} title="Enlarge" onClick={props.onEnlarge}>
              <IconEnlarge size={12} />
            </Tool>
          )}
          <ChartMenu
            title={spec.title}
            onCopy={() => {
              const panel = holder.current?.closest("section");
              if (panel) report(copyPanel(panel));
            }}
            drawn={found.length > 0}
            onRemove={props.onRemove}
          />
        </span>
      </header>
      <Legend {...{ found, spec, source, cursor, step, notes }} axis={view.axis} />
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
    </section>
  );
}

/** A small button of the chart's header. */
function Tool(props: ComponentProps<"button">): ReactNode {
  return <button type="button" className={styles.tool} {...props} />;
}

/** A value so many times its limit is remarked. */
const FAR = 20;

interface LegendProps {
  readonly found: readonly FoundSeries[];
  readonly spec: ChartSpec;
  readonly source: MetricSource;
  readonly cursor: Cursor | null;
  /** Step of the time line. */
  readonly step: number | null;
  readonly notes: readonly StepNote[];
  readonly axis: Axis;
}

/** Line sample, label, and the value at the cursor, else at the time line, else at the newest step that all runs share. */
function Legend({ found, spec, source, cursor, step, notes, axis }: LegendProps): ReactNode {
  const newest = source.steps.length - 1;
  const several = spec.runs === true && found.length > 1;
  const shared = several ? sharedPlace(found, source) : null;
  const place = cursor?.at ?? (step === null ? shared : Math.min(newest, lowerBound(source.steps, step)));
  const note = notes.find((one) => one.step === cursor?.step)?.text;
  return (
    <ul className={`flex wrap small muted relative p-0 no-bullets ${styles.legend}`}>
      {spec.series.map((series) => {
        const own = found.find((candidate) => candidate.spec === series);
        if (own === undefined && found.length > 0) return null;
        const value =
          own === undefined ? undefined : valueAt(own, source, place, axis !== "step" && spec.runs === true);
        const limit = series.right === true ? undefined : spec.levels?.[0];
        const times = limit === undefined || value == null ? 0 : value / limit.value;
        return (
          <li key={`${series.metrics[0]} ${series.label}`} className="row gap-6px min-0">
            <Sample stroke={lineColour(series)} strokeWidth="2" strokeDasharray={dashOf(series).join(" ")} />
            <span className="anywhere">{series.label}</span>
            <b>{showValue(series, value)}</b>
            {times >= FAR && (
              <span className="warn">
                {Math.round(times)} × {limit?.label}
              </span>
            )}
          </li>
        );
      })}
      {spec.levels?.map(({ label, value }) => (
        <li key={label} className="row gap-6px nowrap">
          <Sample stroke="var(--chart-axis)" strokeWidth="1" />
          <span>{label}</span>
          <b>{compact(value)}</b>
        </li>
      ))}
      <li className={`row gap-6px nowrap ${several ? styles.covered : styles.step}`}>
        {cursor === null
          ? several && (shared === null ? "newest step of each" : `step ${source.steps[shared]} of each`)
          : `step ${cursor.step}${axis === "step" ? "" : ` · ${axisText(axis, source.xs[cursor.at] ?? 0)}`}`}
        {note !== undefined && <b> {note}</b>}
      </li>
    </ul>
  );
}

/** A piece of a line. */
function Sample(props: ComponentProps<"line">): ReactNode {
  return (
    <svg width="18" height="8" aria-hidden="true">
      <line x1="0" x2="18" y1="4" y2="4" {...props} />
    </svg>
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

/** The newest place at which all lines have a value; null where they share none. */
function sharedPlace(found: readonly FoundSeries[], source: MetricSource): number | null {
  let at = source.steps.length - 1;
  while (at >= 0 && found.some(({ metric }) => source.isMissing(metric, at))) at--;
  return at < 0 ? null : at;
}

/** The "?" beside a chart's title explains each of its metrics. */
function ChartHelp({ title, metrics }: { readonly title: string; readonly metrics: readonly string[] }): ReactNode {
  const texts = new Map<string, NonNullable<ReturnType<typeof describeMetric>>>();
  for (const metric of metrics) {
    const text = describeMetric(metric);
    // Both loops log the same quantity; one explanation is enough.
    if (text !== undefined) texts.set(metric.replace(/^loop[12]\//u, ""), text);
  }
  if (texts.size === 0) return null;
  const help = (
    <button type="button" className={styles.help} aria-label={`What ${title} means`}>
      ?
    </button>
  );
  return (
    <Popup title={title} trigger={help}>
      <dl className="grid gap-2">
        {[...texts].map(([metric, text]) => (
          <div key={metric}>
            <dt className="bold">{metric}</dt>
            <dd className="muted">{text.meaning}.</dd>
            {text.formula !== "" && (
              <dd className="muted">
                <code>{text.formula}</code>
              </dd>
            )}
            {text.healthy !== "" && <dd className="muted">Healthy: {text.healthy}.</dd>}
          </div>
        ))}
      </dl>
    </Popup>
  );
}

/** Less frequent actions of a chart. */
function ChartMenu(props: {
  readonly title: string;
  /** Whether there is a plot to copy. */
  readonly drawn: boolean;
  readonly onCopy: () => void;
  readonly onRemove: (() => void) | undefined;
}): ReactNode {
  const { title, drawn, onCopy, onRemove } = props;
  const entries = [
    drawn && { label: "Copy as a picture", act: onCopy },
    onRemove !== undefined && { label: "Remove", act: onRemove },
  ].filter((entry) => entry !== false);
  if (entries.length === 0) return null;
  return (
    <Menu
      entries={entries}
      trigger={
        <button type="button" className={styles.tool} aria-label={`More actions for ${title}`} title="More">
          <IconMore size={12} />
        </button>
      }
    />
  );
}

/** Curve style from the address. */
export function useChartView(): ChartView {
  const smoothing = useRoute((route) => route.smooth);
  const axis = useRoute((route) => route.x);
  return useMemo(() => ({ smoothing, axis }), [smoothing, axis]);
}

/** Share of the window that an enlarged plot takes. */
const LARGE = 0.62;

/** Charts of one source side by side; one of them enlarged, if the address says so. */
export function ChartGrid(
  props: Pick<LiveChartProps, "source" | "sync" | "step" | "notes" | "onPick"> & {
    readonly specs: readonly ChartSpec[];
    readonly className?: string | undefined;
    /** Removes the chart of a metric that the user selected. */
    readonly onRemove: (metric: string) => void;
  },
): ReactNode {
  const { specs, className, onRemove, ...rest } = props;
  const view = useChartView();
  const large = useRoute((route) => route.chart);
  const enlarged = specs.find(({ id }) => id === large);
  const close = (): void => navigate({ chart: null });
  return (
    <div className={`grid gap-3 ${className ?? ""}`}>
      {specs.map((spec) => {
        const { picked } = spec;
        return (
          <LiveChart
            key={spec.id}
            {...rest}
            spec={spec}
            view={view}
            onEnlarge={() => navigate({ chart: spec.id })}
            {...(picked === undefined ? {} : { onRemove: () => onRemove(picked) })}
          />
        );
      })}
      {enlarged !== undefined && (
        <Dialog title={enlarged.title} open full named onOpenChange={close}>
          <div className={styles.large}>
            <LiveChart {...rest} spec={enlarged} view={view} height={Math.max(220, LARGE * window.innerHeight)} />
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** Badge of a zoom: the range that the charts of a name show, and a button that resets it. */
export function AllSteps({ sync, axis }: { readonly sync: string; readonly axis: Axis }): ReactNode {
  const shown = useZoomText(sync, axis);
  if (shown === null) return null;
  return (
    <Button
      icon={<IconClose size={12} />}
      data-testid="all-steps"
      title="Reset the zoom; double-clicking a chart does the same"
      onClick={() => setZoom(sync, null)}
    >
      {AXIS_NAMES[axis]} {shown}
    </Button>
  );
}
