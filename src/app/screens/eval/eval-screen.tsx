import { lazy, type ReactNode, Suspense, useState } from "react";
import type { EvalMetric, StoredEvaluation } from "../../../engine/runs/evaluations.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { useHoldToHide } from "../../components/mask/use-hold-to-hide.ts";
import { OverlayControls } from "../../components/rollout/overlay-controls.tsx";
import { useViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { Empty } from "../../components/ui/panel.tsx";
import { ErrorBoundary } from "../../frame/error-boundary.tsx";
import { linkTo } from "../../stores/route.ts";
import styles from "./eval.module.css";
import { EVAL_TEXTS } from "./eval-metrics.ts";
import { EvalRows } from "./eval-rows.tsx";
import { ScoreCard } from "./score-card.tsx";
import { SegmentationTable } from "./segmentation-table.tsx";
import { useEvaluations } from "./use-evaluations.ts";

const EvalCurve = lazy(() => import("./eval-curve.tsx"));

/** What held-out rows say about a run: fixed rows, fixed draws, each evaluation paired with the first. */
export function EvalScreen(): ReactNode {
  useHoldToHide();
  const run = useViewedRun();
  const { list, loading, problem } = useEvaluations(run?.runId ?? null);
  const first = list[0];
  const last = list.at(-1);
  return (
    <div className={styles.screen} data-testid="screen-eval">
      {run !== null && problem !== null && <p className={styles.problem}>Evaluations could not be read: {problem}</p>}
      {run === null || first === undefined || last === undefined ? (
        <NoEvaluations loading={run !== null && loading} hasRun={run !== null} />
      ) : (
        <>
          <header className={styles.head}>
            <h1>{run.manifest?.title ?? run.runId}</h1>
            <span className={styles.where}>
              {first.report.n} held-out rows, after {last.report.step} steps
            </span>
          </header>
          <Comparison key={run.runId} run={run.manifest} list={list} first={first} last={last} />
        </>
      )}
    </div>
  );
}

function Comparison(props: {
  readonly run: RunManifest | null;
  readonly list: readonly StoredEvaluation[];
  readonly first: StoredEvaluation;
  readonly last: StoredEvaluation;
}): ReactNode {
  const { run, list, first, last } = props;
  const [metric, setMetric] = useState<EvalMetric>("loop1_sampled");
  const text = EVAL_TEXTS.find(({ id }) => id === metric);
  return (
    <>
      <fieldset className={styles.cards}>
        <legend>Score</legend>
        {EVAL_TEXTS.map((entry) => (
          <ScoreCard
            key={entry.id}
            text={entry}
            first={first.report}
            last={last.report}
            chosen={entry.id === metric}
            onChoose={() => setMetric(entry.id)}
          />
        ))}
      </fieldset>
      {list.length > 1 && (
        <ErrorBoundary>
          <Suspense fallback={<div className={styles.curve} />}>
            <EvalCurve list={list} metric={metric} title={text?.title ?? metric} />
          </Suspense>
        </ErrorBoundary>
      )}
      {metric === "grounding_iou" && <SegmentationTable first={first.report} last={last.report} />}
      <div className={styles.bar}>
        <p className={styles.quiet}>{text?.help}</p>
        <OverlayControls />
      </div>
      <EvalRows run={run} first={first} last={last} metric={metric} />
    </>
  );
}

function NoEvaluations({ loading, hasRun }: { readonly loading: boolean; readonly hasRun: boolean }): ReactNode {
  if (loading) return <p className={styles.quiet}>Reading evaluations…</p>;
  return (
    <Empty
      title={hasRun ? "This run was not evaluated" : "No run yet"}
      actions={
        <>
          <a className={styles.link} href={linkTo({ screen: "setup" })}>
            Set “Evaluate every”
          </a>
          <a className={styles.link} href={linkTo({ screen: "runs" })}>
            Open a stored run
          </a>
        </>
      }
    >
      <p>Held-out rows are scored at the start, on a beat and at the end, always with the same draws</p>
    </Empty>
  );
}
