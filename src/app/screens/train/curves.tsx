/** The tab Curves: what a run logged, its gain on held-out rows, and its newest rollouts. */
import { memo, type ReactNode, useCallback, useMemo, useRef, useSyncExternalStore } from "react";
import { activeLoops, weightedLoops } from "../../../engine/config/derived.ts";
import { fewPicturesText } from "../../../engine/runs/evaluations/difference-text.ts";
import {
  lackingText,
  reportPictures,
  SCORES,
  type ScoreId,
} from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import { type Gain, gainsOf } from "../../../engine/runs/evaluations/gains.ts";
import { type RunResult, runResult } from "../../../engine/runs/library/run-result.ts";
import { BeforeAfter, GainNumbers } from "../../components/before-after.tsx";
import { AllSteps, ChartGrid } from "../../components/charts/live-chart.tsx";
import { alongAxis, loggedText, metricChart, metricsOf, otherMetrics } from "../../components/charts/series.ts";
import { InSlices } from "../../components/in-parts.tsx";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { OverlayControls } from "../../components/rollout/overlay-controls.tsx";
import { useEvaluations, useStepGroups, type ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { CopyPanel } from "../../components/ui/panel/panel.tsx";
import { linkTo, navigate, useRoute } from "../../stores/route.ts";
import { useRun } from "../../stores/run/run.ts";
import { counted } from "../../styles/format.ts";
import { Alarms, useAlarms } from "./alarms.tsx";
import { StepStrip, useLiveGroups } from "./live.tsx";
import { arrangeCharts, measuredCharts, ofRun, overviewOf } from "./overview.ts";
import styles from "./train.module.css";

export const Curves = memo(function Curves(props: {
  readonly run: ViewedRun;
  /** The step of the time line, one with rollouts; null without any. */
  readonly step: number | null;
  /** The step that was asked for; null while the newest is followed. */
  readonly asked: number | null;
}): ReactNode {
  const { run, step, asked } = props;
  const evaluated = useEvaluations(run);
  const live = run.source === "live";
  const axis = useRoute((route) => route.x);
  const begun = useRun((state) => state.step > 0);
  const { groups: newest, complete } = useLiveGroups();
  const arrived = newest.length > 0;
  const starting = live && !arrived && !begun;
  // Steps differ between runs and positions between axes, so each combination has its own zoom.
  const sync = `train ${run.runId}${axis === "step" ? "" : ` ${axis}`}`;
  const trainRows = run.manifest?.data.trainRows ?? 0;
  const source = useMemo(() => alongAxis(run.metrics, axis, trainRows), [run.metrics, axis, trainRows]);
  const { config } = run.manifest ?? {};
  const supervised = (config?.mode ?? "rl") !== "rl";
  const loops = useMemo(() => (config === undefined ? [] : weightedLoops(config)), [config]);
  const { others, chosen, above, below, choose } = useCharts(run);
  // What was known at the step of the time line.
  const evaluations = useMemo(
    () => evaluated.list.filter(({ report }) => asked === null || report.step <= asked),
    [evaluated.list, asked],
  );
  const alarms = useAlarms(run);
  const shown = useStepGroups(run, step);
  // The last groups stay until those of another step are read.
  const kept = useRef(shown.groups);
  if (shown.groups.length > 0 || shown.problem !== null) kept.current = shown.groups;
  // The lower charts wait for the groups of the first step, so that the groups do not push them down.
  const waiting = live && !supervised && !complete;
  // A stored run is drawn when all its parts are read, so that no part moves another.
  const read = useRef(false);
  if (!(run.loading || evaluated.loading || alarms.loading || shown.loading)) read.current = true;
  const open = useCallback((step: number) => navigate({ tab: "rollouts", step, group: null, rollout: null }), []);
  const drawn = { source, sync, step: asked, notes: run.notes, onPick: open, onRemove: drop, className: styles.charts };
  return (
    <>
      <div className="row wrap gap-2-3 min-control">
        <PluginPanels
          at="curve-tools"
          given={{ source: run.metrics, name: run.runId, names: others, chosen, onChange: choose }}
          quiet
        />
        <AllSteps sync={sync} axis={axis} />
        {/* Last, so that it moves nothing when it comes. */}
        <PluginPanels at="curves" given={{ run, step: asked ?? run.metrics.steps.at(-1) ?? 0 }} quiet />
      </div>
      {!live && !read.current && <p className="muted">Reading the run…</p>}
      {(live || read.current) && (
        <InSlices>
          {live && hasPanels("phases") && (
            <div className={styles.phases}>
              <PluginPanels at="phases" given={{}} quiet />
            </div>
          )}
          <ResultCard run={run} evaluations={evaluations} evaluated={evaluated.list.length > 1} />
          {!live && <Alarms run={run} alarms={alarms} />}
          <ChartGrid specs={above} {...drawn} />
          {/* Below the curves, which would otherwise leave the window; of a run in progress below its rollouts, too. */}
          {!live && <BeforeAfter evaluations={evaluations} loops={loops} place={run.place} />}
          {!supervised && (
            <div className="row wrap gap-2-4 between">
              <h2>Rollouts</h2>
              <OverlayControls />
            </div>
          )}
          {starting && (
            <p className={`muted round-m ${styles.waiting}`} role="status">
              Curves and rollouts of the first step appear here as they arrive
            </p>
          )}
          {!supervised && shown.problem !== null && <p className="bad">Cannot read these rollouts: {shown.problem}</p>}
          {/* A resumed run has stored groups before its first new ones. */}
          <StepStrip groups={live && asked === null && arrived ? newest : kept.current} />
          {live && !waiting && <BeforeAfter evaluations={evaluations} loops={loops} place={run.place} />}
          {!waiting && <ChartGrid specs={below} {...drawn} />}
          {live && <Alarms run={run} alarms={alarms} />}
        </InSlices>
      )}
    </>
  );
});

/** The default and the selected charts; the selection is stored in the address. */
function useCharts({ manifest, metrics }: ViewedRun) {
  const chosen = useRoute((route) => route.metrics) ?? NO_METRICS;
  const config = manifest?.config;
  const own = useMemo(() => ofRun(overviewOf(config?.mode, config?.maxGradNorm ?? 0), config), [config]);
  const names = useSyncExternalStore(
    (changed) => metrics.subscribe(changed),
    () => loggedText(metrics),
  );
  return useMemo(() => {
    const logged = names.split("\n").filter(Boolean);
    const usual = measuredCharts(own, logged);
    const others = otherMetrics(logged, metricsOf(usual));
    // Metrics that this run did not log stay in the address, for runs that did.
    const picked = chosen.filter((name) => others.includes(name)).map(metricChart);
    const [above, below] = arrangeCharts(usual, picked);
    return { others, chosen, above, below, choose: (list: readonly string[]) => navigate({ metrics: list }) };
  }, [own, names, chosen]);
}

const NO_METRICS: readonly string[] = [];

/** Removes the chart of a selected metric. */
function drop(metric: string): void {
  navigate({ metrics: (useRoute.getState().metrics ?? NO_METRICS).filter((name) => name !== metric) });
}

/**
 * What a run achieved on held-out rows so far, and where to look at it. The run of this page has the card from its
 * start, with dashes until it was evaluated twice, so that nothing moves when the result comes.
 */
function ResultCard(props: {
  readonly run: ViewedRun;
  /** Up to the step of the time line. */
  readonly evaluations: readonly StoredEvaluation[];
  /** Whether the run has a result at a later step. */
  readonly evaluated: boolean;
}): ReactNode {
  const { run, evaluations: list, evaluated } = props;
  const holdsOut = useRun((state) => run.source === "live" && state.heldOutRows > 0);
  const result = useMemo(() => runResult(list), [list]);
  const { config } = run.manifest ?? {};
  const expected = (holdsOut || evaluated) && config !== undefined && config.mode === "rl" && config.evalSteps > 0;
  if (result === null && !expected) return null;
  const pictures = result === null ? 0 : reportPictures(result.last.rows);
  const few = result === null ? "" : fewPicturesText(pictures);
  const known = result === null ? SCORES : result.scores.map(({ id }) => id);
  const loops = config === undefined ? [] : activeLoops(config);
  const gains = gainsOf(known, loops);
  const second = Math.min(config?.evalSteps ?? 0, config?.steps ?? 0);
  return (
    <section className="grid gap-2" aria-label="Result" data-testid="result">
      <div className={`grid ${styles.gains}`}>
        {gains.map((gain) => (
          <Headline key={gain.name} gain={gain} result={result} pictures={pictures} />
        ))}
      </div>
      <p className="row wrap gap-2-4 muted">
        <span>
          Step {result?.first.report.step ?? 0} to {result?.last.report.step ?? second}, 95 % intervals
          {(config?.selectionShare ?? 0) > 0 && ", without the rows that choose the best checkpoint"}
        </span>
        <a href={linkTo({ screen: "train", tab: "held-out", run: run.place })}>Best and worst rows</a>
        <a href={linkTo({ screen: "runs" })}>Export</a>
        <CopyPanel name="the result" />
        {/* Last, so that it moves nothing when it comes. */}
        {few !== "" && <span className="warn">{few}</span>}
      </p>
    </section>
  );
}

/** A gain with its numbers. @param result null before the second evaluation */
function Headline(props: {
  readonly gain: Gain;
  readonly result: RunResult | null;
  readonly pictures: number;
}): ReactNode {
  const { gain, result, pictures } = props;
  const found = (id: ScoreId) => result?.scores.find((score) => score.id === id);
  const n = result?.last.report.n;
  return (
    <div className="grid gap-1">
      <span>
        Gain in {gain.name} on {n === undefined ? "held-out rows" : counted(n, "held-out row")}
      </span>
      <GainNumbers
        className={`flex wrap ${styles.gain}`}
        gain={gain}
        of={(id) => found(id)?.score.difference ?? null}
        pictures={pictures}
        note={(id) => {
          const own = found(id);
          if (own === undefined) return "after the second evaluation";
          const lacking = lackingText(own.score.n, n ?? own.score.n);
          return ` · ${own.better} better, ${own.worse} worse${lacking === "" ? "" : ` · ${lacking}`}`;
        }}
      />
    </div>
  );
}
