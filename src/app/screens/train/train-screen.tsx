import { type ReactNode, useCallback, useMemo, useRef, useSyncExternalStore } from "react";
import { activeLoops } from "../../../engine/config/derived.ts";
import { report } from "../../clients/lab.ts";
import { startBlocker } from "../../clients/run/blockers.ts";
import { resumeAndShow, resumeNeeds } from "../../clients/run/resume.ts";
import { act, actionBlocker } from "../../clients/run/run-actions.ts";
import { BeforeAfter } from "../../components/before-after.tsx";
import { ChartOptions, MetricPicker, SaveCsv } from "../../components/charts/curve-controls.tsx";
import { AllSteps, ChartGrid } from "../../components/charts/live-chart.tsx";
import { alongAxis, loggedText, metricChart, metricsOf, otherMetrics } from "../../components/charts/series.ts";
import { useHoldToHide } from "../../components/mask/use-hold-to-hide.ts";
import { NewestRun } from "../../components/rollout/newest-run.tsx";
import { OverlayControls } from "../../components/rollout/overlay-controls.tsx";
import { StepTitle, shownStep, TimeLine } from "../../components/rollout/time-line.tsx";
import {
  titleOf,
  useLiveStep,
  useNoRun,
  useStepGroups,
  useViewedRun,
  type ViewedRun,
} from "../../components/rollout/use-viewed-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { IconPlay } from "../../components/ui/icons.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import { pick } from "../../components/upload/pickers.tsx";
import { useEvaluations } from "../../components/use-evaluations.ts";
import { linkTo, navigate, useRoute } from "../../stores/route.ts";
import { useStepNotes } from "../../stores/run/notes.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { Alarms } from "./alarms.tsx";
import { StepStrip, useLiveGroups } from "./live-strip.tsx";
import { arrangeCharts, measuredCharts, ofRun, overviewOf } from "./overview.ts";
import { PhaseBar } from "./phase-bar.tsx";
import { PhaseLesson } from "./phase-lesson.tsx";
import { ResultCard } from "./result-card.tsx";
import { StepNotes } from "./step-notes.tsx";
import styles from "./train.module.css";
import { useAlarms } from "./use-alarms.ts";

/** Curves and the newest rollouts of a run. */
export function TrainScreen(): ReactNode {
  useHoldToHide();
  const run = useViewedRun();
  const noRun = useNoRun(run);
  const starting = useRun(({ state }) => state === "starting");
  return (
    <div className="screen" data-testid="screen-train">
      {noRun && (starting ? <Starting /> : <NoRun />)}
      {run !== null && <RunView key={run.runId} run={run} />}
    </div>
  );
}

function RunView({ run }: { readonly run: ViewedRun }): ReactNode {
  const axis = useRoute((route) => route.x);
  const asked = useRoute((route) => route.step);
  const explain = useRoute((route) => route.explain);
  const step = shownStep(run.steps, asked);
  const begun = useRun((state) => state.step > 0);
  const liveStep = useLiveStep(run);
  const { groups: newest, complete } = useLiveGroups();
  const arrived = newest.length > 0;
  const starting = run.live && !arrived && !begun;
  // Steps differ between runs and positions between axes, so each combination has its own zoom.
  const sync = `train ${run.runId}${axis === "step" ? "" : ` ${axis}`}`;
  const trainRows = run.manifest?.data.trainRows ?? 0;
  const source = useMemo(() => alongAxis(run.metrics, axis, trainRows), [run.metrics, axis, trainRows]);
  const notes = useStepNotes(run.runId);
  const { config } = run.manifest ?? {};
  const supervised = config?.mode === "sft";
  const loops = useMemo(() => (config === undefined ? [] : activeLoops(config)), [config]);
  const readOnly = run.recorded || run.imported || run.followed || run.otherTabs;
  const { others, chosen, above, below, choose } = useCharts(run);
  const evaluations = useEvaluations(run);
  const alarms = useAlarms(run);
  const shown = useStepGroups(run, step);
  // The last groups stay until those of another step are read.
  const kept = useRef(shown.groups);
  if (shown.groups.length > 0 || shown.problem !== null) kept.current = shown.groups;
  // The lower charts wait for the groups of the first step, so that the groups do not push them down.
  const waiting = run.live && !supervised && !complete;
  // A stored run is drawn when all its parts are read, so that no part moves another.
  const read = useRef(false);
  if (!(run.loading || evaluations.loading || alarms.loading || shown.loading)) read.current = true;
  const open = useCallback((step: number) => navigate({ screen: "rollouts", step, group: null, rollout: null }), []);
  const order = [...above, ...below].map(({ id }) => id);
  const drawn = { order, source, sync, step: asked, notes, onPick: open, onRemove: drop, className: styles.charts };
  return (
    <>
      <header className="row wrap gap-2-3">
        <h1>{titleOf(run)}</h1>
        <span className="muted">{kindOf(run)}</span>
        <NewestRun run={run} />
        <StepTitle shown={asked === null ? null : step} asked={asked} />
        {!readOnly && <ResumeButton run={run} />}
        {!supervised && (
          <Button aria-pressed={explain} onClick={() => navigate({ explain: !explain })}>
            Explain the phases
          </Button>
        )}
        <ChartOptions />
        <MetricPicker names={others} chosen={chosen} onChange={choose} />
        <StepNotes runId={run.runId} notes={notes} step={asked ?? run.metrics.steps.at(-1) ?? 0} readOnly={readOnly} />
        <SaveCsv source={run.metrics} name={run.runId} />
        <AllSteps sync={sync} axis={axis} />
      </header>
      {run.problem !== null && <p className="bad">{run.problem}</p>}
      {!run.live && !read.current && <p className="muted">Reading the run…</p>}
      {(run.live || read.current) && (
        <>
          {(run.live || run.steps.length > 1) && (
            <TimeLine steps={run.steps} selected={step} asked={asked} live={liveStep} />
          )}
          {run.live && <PhaseBar />}
          {explain && !supervised && <PhaseLesson run={run} step={step} />}
          <ResultCard run={run} evaluations={evaluations.list} />
          {!run.live && <Alarms run={run} alarms={alarms} />}
          <ChartGrid specs={above} {...drawn} />
          {/* Below the curves, which would otherwise leave the window; the first evaluation precedes the first groups. */}
          <BeforeAfter evaluations={evaluations.list} loops={loops} />
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
          <StepStrip run={run} groups={run.live && asked === null && arrived ? newest : kept.current} />
          {!waiting && <ChartGrid specs={below} {...drawn} />}
          {run.live && <Alarms run={run} alarms={alarms} />}
        </>
      )}
    </>
  );
}

/** Continues a run that ended before its last step; nothing for other runs. */
function ResumeButton({ run: { manifest, metrics } }: { readonly run: ViewedRun }): ReactNode {
  const busy = useRun(({ state }) => isActive(state));
  const session = useSession();
  const done = metrics.steps.at(-1) ?? 0;
  if (manifest === null || busy || done === 0 || done >= manifest.config.steps) return null;
  const { label, blocker } = resumeNeeds(manifest, session);
  return (
    <Button icon={<IconPlay />} blocker={blocker} onClick={() => report(resumeAndShow(manifest, () => pick("shards")))}>
      {label}
    </Button>
  );
}

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

function kindOf({ live, otherTabs, recorded, followed, imported, metrics }: ViewedRun): string {
  if (followed) return `computed on another machine, ${metrics.steps.length} steps so far, read-only`;
  if (otherTabs) return "training in another tab, read-only";
  if (imported) return "imported run, read-only";
  if (live) return "";
  return recorded ? "recorded run" : "stored run";
}

function Starting(): ReactNode {
  return (
    <Empty title="The run is starting" actions={null}>
      <p role="status">Its first rollouts appear here, then its curves</p>
    </Empty>
  );
}

/** Before any run: a description of this screen, and the start button. */
function NoRun(): ReactNode {
  const rows = useSession((session) => session.rows.length);
  const model = useSession((session) => session.model);
  const busy = useRun((run) => actionBlocker("start", run.state));
  const missing = useSession(startBlocker);
  const blocker = busy ?? missing;
  return (
    <Empty
      title="No run yet"
      actions={
        <>
          <Button kind="primary" icon={<IconPlay />} blocker={blocker} onClick={() => act("start")}>
            Start
          </Button>
          <a className="screen-link" href={linkTo({ screen: "setup" })}>
            Change settings
          </a>
          <a className="screen-link" href={linkTo({ screen: "runs" })}>
            Open a stored run
          </a>
        </>
      }
    >
      <p>Rewards, masks and captions of every rollout appear here during a run</p>
      <p>{blocker ?? `${model?.name ?? "Model"} and ${rows.toLocaleString("en-US")} rows are ready`}</p>
    </Empty>
  );
}
