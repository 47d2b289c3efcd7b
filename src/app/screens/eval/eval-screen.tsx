import { lazy, type ReactNode, Suspense, useState } from "react";
import type { BestCheckpoint } from "../../../engine/runs/checkpoint/best-checkpoint.ts";
import { reportPictures, type ScoreId, scoreOf } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import { baselineIn } from "../../../engine/runs/library/run-result.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { act, actionBlocker } from "../../clients/run/run-actions.ts";
import { useHoldToHide } from "../../components/mask/use-hold-to-hide.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { OverlayControls } from "../../components/rollout/overlay-controls.tsx";
import { useNoRun, useViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { Segmented, Select } from "../../components/ui/controls.tsx";
import { ErrorBoundary } from "../../components/ui/error-boundary.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import { useEvaluations } from "../../components/use-evaluations.ts";
import { linkTo, navigate, useRoute } from "../../stores/route.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { counted } from "../../styles/format.ts";
import styles from "./eval.module.css";
import { evalTexts } from "./eval-metrics.ts";
import { EvalRows } from "./eval-rows.tsx";
import { ScoreCard } from "./score-card.tsx";
import { SegmentationTable } from "./segmentation-table.tsx";
import { SelectionLine } from "./selection-line.tsx";
import { SourceTable } from "./source-table.tsx";

const EvalCurve = lazy(() => import("./eval-curve.tsx"));

const PARTS = { run: "Held-out rows", suites: "Suites" } as const;

/** Held-out evaluations of a run, and evaluation suites of the field. */
export function EvalScreen(): ReactNode {
  useHoldToHide();
  const part = useRoute((route) => route.part);
  return (
    <div className="screen" data-testid="screen-eval">
      {hasPanels("suites") && (
        <div>
          <Segmented label="Evaluation" options={PARTS} value={part} onChange={(value) => navigate({ part: value })} />
        </div>
      )}
      {part === "suites" && hasPanels("suites") ? (
        <PluginPanels at="suites" given={{}} />
      ) : (
        <>
          <PluginPanels at="stopped-work" given={{}} />
          <HeldOut />
        </>
      )}
    </div>
  );
}

/** Held-out evaluations of a run: fixed rows, fixed seeds, each evaluation paired with the first. */
function HeldOut(): ReactNode {
  const run = useViewedRun();
  const noRun = useNoRun(run);
  const { list, best, loading, problem } = useEvaluations(run);
  const last = list.at(-1);
  return (
    <>
      {run?.live === true && <EvaluateNow />}
      {run !== null && problem !== null && <p className="bad">Cannot read the evaluations: {problem}</p>}
      {run === null || last === undefined ? (
        problem === null && <NoEvaluations loading={run === null ? !noRun : loading} hasRun={run !== null} />
      ) : (
        <Evaluated key={run.runId} runId={run.runId} run={run.manifest} list={list} last={last} best={best} />
      )}
    </>
  );
}

/** Evaluates the current weights; at once while paused. */
function EvaluateNow(): ReactNode {
  const state = useRun((run) => run.state);
  const phase = useRun((run) => run.phase);
  const asked = useRun((run) => run.evaluationAsked);
  const rows = useRun(({ eta }) => eta.rows);
  // The blocker is computed again when one of these changes.
  useRun((run) => run.step);
  if (!isActive(state)) return null;
  return (
    <p className="row wrap gap-2-3">
      <Button
        data-testid="evaluate-now"
        blocker={actionBlocker("evaluate", state)}
        aria-busy={asked}
        onClick={() => act("evaluate")}
      >
        Evaluate now
      </Button>
      {phase === "eval" && rows !== null && rows.done < rows.total && (
        <span className="muted" role="status">
          {rows.done} of {rows.total} rows
        </span>
      )}
    </p>
  );
}

/** The evaluation of the step in the address, else the newest. */
function Evaluated(props: {
  readonly runId: string;
  readonly run: RunManifest | null;
  readonly list: readonly StoredEvaluation[];
  readonly last: StoredEvaluation;
  readonly best: BestCheckpoint | null;
}): ReactNode {
  const { runId, run, list, last, best } = props;
  const wanted = useRoute((route) => route.step);
  const shown = list.find(({ report }) => report.step === wanted) ?? last;
  const { step, n } = shown.report;
  return (
    <>
      <header className="flex wrap gap-2-3 align-baseline">
        <h1>{run?.title ?? runId}</h1>
        <span className="muted large" data-testid="eval-where">
          {counted(n, shown.report.selection === undefined ? "held-out row" : "report row")}, after{" "}
          {counted(step, "step")}
        </span>
        {list.length > 1 && (
          <Select
            label="Evaluated step"
            testId="eval-step"
            options={[...list].reverse().map(({ report }) => ({
              value: String(report.step),
              label: `Step ${report.step}${report === last.report ? ", newest" : ""}${report.step === best?.step ? ", best checkpoint" : ""}`,
            }))}
            value={String(step)}
            onChange={(value) => navigate({ step: Number(value) })}
          />
        )}
      </header>
      <SelectionLine shown={shown} best={best} />
      <Comparison run={run} list={list} first={baselineIn(list, shown)} last={shown} />
    </>
  );
}

function Comparison(props: {
  readonly run: RunManifest | null;
  readonly list: readonly StoredEvaluation[];
  readonly first: StoredEvaluation;
  readonly last: StoredEvaluation;
}): ReactNode {
  const { run, list, first, last } = props;
  const texts = evalTexts(last.report.reward.judge).filter(({ id }) => scoreOf(last.report, id) !== null);
  const [chosen, setChosen] = useState<ScoreId | null>(null);
  const text = texts.find(({ id }) => id === chosen) ?? texts[0];
  if (text === undefined) return null;
  const metric = text.id;
  const pictures = reportPictures(last.rows);
  return (
    <>
      <fieldset className={`grid m-0 gap-2 p-0 borderless ${styles.cards}`}>
        <legend className="visually-hidden">Score</legend>
        {texts.map((entry) => (
          <ScoreCard
            key={entry.id}
            text={entry}
            last={last.report}
            pictures={pictures}
            chosen={entry.id === metric}
            onChoose={() => setChosen(entry.id)}
          />
        ))}
      </fieldset>
      {list.length > 1 && (
        <ErrorBoundary>
          <Suspense fallback={<div className={`p-2 framed round-l ${styles.curve}`} />}>
            <EvalCurve list={list} metric={metric} title={text.title} />
          </Suspense>
        </ErrorBoundary>
      )}
      <SourceTable first={first.report} last={last.report} />
      {metric === "grounding_iou" && <SegmentationTable first={first.report} last={last.report} pictures={pictures} />}
      <div className="row wrap gap-2-4 between">
        <p className="muted">{text.help}</p>
        <OverlayControls />
      </div>
      <EvalRows run={run} first={first} last={last} metric={metric} />
    </>
  );
}

function NoEvaluations({ loading, hasRun }: { readonly loading: boolean; readonly hasRun: boolean }): ReactNode {
  if (loading) return <p className="muted">Reading evaluations…</p>;
  return (
    <Empty
      title={hasRun ? "This run has no evaluations" : "No run yet"}
      actions={
        <>
          <a className="screen-link" href={linkTo({ screen: "setup" })}>
            Set “Evaluate every”
          </a>
          <a className="screen-link" href={linkTo({ screen: "runs" })}>
            Open a stored run
          </a>
        </>
      }
    >
      <p>Held-out rows are evaluated at the start, every N steps and at the end, with fixed seeds</p>
    </Empty>
  );
}
