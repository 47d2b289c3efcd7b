/** The tab Held-out: scores of rows that never train, and the rows behind them. */
import { memo, type ReactNode, useMemo, useState } from "react";
import { createPortal } from "react-dom";
import type { BestCheckpoint } from "../../../engine/runs/checkpoint/best-checkpoint.ts";
import { differenceText, fewPicturesText, verdict } from "../../../engine/runs/evaluations/difference-text.ts";
import {
  lackingText,
  reportPictures,
  rowScoreOf,
  type ScoreId,
  scoreOf,
  selectionName,
} from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { EvalReport, StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import { baselineIn, countChanges, type RowPair, rowPairs } from "../../../engine/runs/library/run-result.ts";
import { act, actionBlocker } from "../../clients/run/run-actions.ts";
import { type EvalMetricText, evalTexts } from "../../components/held-out-texts.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { OverlayControls } from "../../components/rollout/overlay-controls.tsx";
import { shortRow } from "../../components/rollout/rollout-view.ts";
import { useEvaluations, type ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { Button, PlaceLink } from "../../components/ui/button.tsx";
import { Segmented } from "../../components/ui/controls.tsx";
import { Empty } from "../../components/ui/panel/panel.tsx";
import { navigate, useRoute } from "../../stores/route.ts";
import { isActive, useRun } from "../../stores/run/run.ts";
import { counted, fixed, scoreText } from "../../styles/format.ts";
import { Change, RowCard, RowCards, RowDetails } from "./held-out-rows.tsx";
import { SidePanel } from "./side-panel.tsx";
import styles from "./train.module.css";

const ORDERS = { gains: "Best first", losses: "Worst first" } as const;

/** Opens a row beside the tabs, in place of a rollout. */
function inspectRow({ after }: RowPair): void {
  navigate({ row: after.rowId, rollout: null, explain: false });
}

/**
 * The report rows behind a score, largest change first, with captions and masks of the start and the newest weights.
 */
function EvalRows(props: {
  readonly first: StoredEvaluation;
  readonly last: StoredEvaluation;
  readonly metric: ScoreId;
  readonly beside: HTMLElement | null;
}): ReactNode {
  const { first, last, metric, beside } = props;
  const [order, setOrder] = useState<keyof typeof ORDERS>("gains");
  const pairs = useMemo(() => rowPairs(first.rows, last.rows, metric), [first.rows, last.rows, metric]);
  const alone = first === last;
  // An evaluation without an earlier one has no changes, so its scores order the rows.
  const sorted = useMemo(() => {
    const rank = ({ change, after }: RowPair): number => (alone ? (rowScoreOf(after, metric) ?? 0) : change);
    return [...pairs].sort((a, b) => (order === "gains" ? rank(b) - rank(a) : rank(a) - rank(b)));
  }, [pairs, order, alone, metric]);
  const opened = useRoute((route) => route.row);
  const at = sorted.findIndex(({ after }) => after.rowId === opened);
  const chosen = sorted[at];
  const turn = (by: number): (() => void) | null => {
    const next = chosen === undefined ? undefined : sorted[at + by];
    return next === undefined ? null : () => inspectRow(next);
  };
  const { better, worse, same } = useMemo(() => countChanges(pairs), [pairs]);
  return (
    <section className="grid gap-3 min-0">
      <header className="row wrap gap-2-4 between">
        <h2>
          {alone
            ? `${counted(pairs.length, "row")} at step ${last.report.step}, the first evaluation; later ones are compared with it`
            : `${better} better, ${worse} worse, ${same} the same within 0.01`}
        </h2>
        <Segmented label="Order" options={ORDERS} value={order} onChange={setOrder} />
      </header>
      <RowCards
        rows={sorted}
        keyOf={({ after }) => after.rowId}
        small={alone}
        card={(pair) => <RowCard pair={pair} metric={metric} onOpen={() => inspectRow(pair)} />}
      />
      {chosen !== undefined &&
        beside !== null &&
        createPortal(
          <SidePanel
            name="Held-out row"
            kind="row"
            testId="eval-row-details"
            numbers={alone ? null : <Change value={chosen.change} />}
            place={
              <p className="muted small clip ellipsis nowrap" title={chosen.after.rowId}>
                {at + 1} of {sorted.length} · row {shortRow(chosen.after.rowId)}
              </p>
            }
            onPrevious={turn(-1)}
            onNext={turn(1)}
            onClose={() => navigate({ row: null })}
          >
            <RowDetails pair={chosen} metric={metric} />
          </SidePanel>,
          beside,
        )}
    </section>
  );
}

/**
 * Held-out evaluations of a run: fixed rows, fixed seeds, each evaluation paired with the first.
 * @param props.step the evaluated step of the time line; null without any
 */
export const HeldOut = memo(function HeldOut(props: {
  readonly run: ViewedRun;
  readonly step: number | null;
  /** Where the inspected row is shown; null before it is drawn. */
  readonly beside: HTMLElement | null;
}): ReactNode {
  const { run, step, beside } = props;
  const { list, best, loading, problem } = useEvaluations(run);
  const [chosen, setChosen] = useState<ScoreId | null>(null);
  const last = list.find(({ report }) => report.step === step);
  const texts = useMemo(() => (last === undefined ? [] : distinctTexts(last.report)), [last]);
  const text = texts.find(({ id }) => id === chosen) ?? texts[0];
  const above = (
    <>
      {run.source === "live" && <EvaluateNow />}
      {problem !== null && <p className="bad">Cannot read the evaluations: {problem}</p>}
    </>
  );
  if (last === undefined || text === undefined) {
    return (
      <>
        {above}
        {problem === null && <NoEvaluations loading={loading} />}
      </>
    );
  }
  const { report } = last;
  const first = baselineIn(list, last);
  const metric = text.id;
  const pictures = reportPictures(last.rows);
  const few = fewPicturesText(pictures);
  return (
    <>
      {above}
      <p className="large" data-testid="eval-where">
        {counted(report.n, report.selection === undefined ? "held-out row" : "report row")}, after{" "}
        {counted(report.step, "step")}
      </p>
      <p className="muted" data-testid="eval-selection">
        {selectionSentence(report, best)}
        {few !== "" && ` The report rows are few: ${few}.`}
      </p>
      <fieldset className={`grid m-0 gap-2 p-0 borderless ${styles.heldOutCards}`}>
        <legend className="visually-hidden">Score</legend>
        {texts.map((entry) => (
          <ScoreCard
            key={entry.id}
            text={entry}
            last={report}
            pictures={pictures}
            chosen={entry.id === metric}
            onChoose={() => setChosen(entry.id)}
          />
        ))}
      </fieldset>
      {list.length > 1 && hasPanels("evaluations") && (
        <div className={styles.curve}>
          <PluginPanels at="evaluations" given={{ list, metric, title: text.title, step: report.step }} quiet />
        </div>
      )}
      <div className="row wrap gap-2-4 between">
        <p className="muted">{text.help}</p>
        <OverlayControls />
      </div>
      <EvalRows first={first} last={last} metric={metric} beside={beside} />
      <PluginPanels at="held-out" given={{ first: first.report, last: report, metric, pictures }} />
    </>
  );
});

/** Evaluates the current weights; at once while paused. */
function EvaluateNow(): ReactNode {
  const { state, phase, evaluationAsked, eta } = useRun();
  if (!isActive(state)) return null;
  const { rows } = eta;
  return (
    <p className="row wrap gap-2-3">
      <Button
        data-testid="evaluate-now"
        blocker={actionBlocker("evaluate", state)}
        aria-busy={evaluationAsked}
        onClick={() => act("evaluate")}
      >
        Evaluate now
      </Button>
      {phase === "eval" && rows !== null && rows.done < rows.total && (
        <span className="muted" role="status">
          {rows.done} of {counted(rows.total, "row")}
        </span>
      )}
    </p>
  );
}

/** The scores that an evaluation has. A reward that equals the score of its loop is shown once, under that name. */
function distinctTexts(report: EvalReport): readonly EvalMetricText[] {
  const twinOf = (id: ScoreId): ScoreId | null => {
    const twin = id.replace("reward", "loop") as ScoreId;
    const [reward, score] = [scoreOf(report, id), scoreOf(report, twin)];
    const same = (a: number | null, b: number | null): boolean => a === b || Math.abs((a ?? NaN) - (b ?? NaN)) < 1e-9;
    if (twin === id || reward === null || score === null) return null;
    return same(reward.mean, score.mean) && same(reward.start, score.start) ? twin : null;
  };
  const known = evalTexts(report.reward.judge).filter(({ id }) => scoreOf(report, id) !== null);
  const twins = new Set(known.map(({ id }) => twinOf(id)));
  return known
    .filter(({ id }) => twinOf(id) === null)
    .map((text) => (twins.has(text.id) ? { ...text, help: `${text.help}. The run trains on this score` } : text));
}

function NoEvaluations({ loading }: { readonly loading: boolean }): ReactNode {
  if (loading) return <p className="muted">Reading evaluations…</p>;
  return (
    <Empty
      title="This run has no evaluations"
      actions={
        <>
          <PlaceLink to={{ screen: "setup" }}>Set “Evaluate every”</PlaceLink>
          <PlaceLink to={{ screen: "runs" }}>Open a stored run</PlaceLink>
        </>
      }
    >
      <p>Held-out rows are evaluated at the start, every N steps and at the end, with fixed seeds</p>
    </Empty>
  );
}

/** How the best checkpoint was chosen; no number includes the selection rows. */
function selectionSentence(report: EvalReport, best: BestCheckpoint | null): string {
  const { selection } = report;
  if (selection === null) return "There are no selection rows, so no best checkpoint is chosen.";
  const name = selectionName(report);
  const rows = `${counted(selection.n, "selection row")}. The scores below are of the other rows.`;
  if (best === null) {
    return `Best checkpoint: none, because no evaluated step has a checkpoint. The choice goes by “${name}” on ${rows}`;
  }
  return `Best checkpoint: step ${best.step}, with ${name} ${fixed(best.selection.value, 3)} on ${rows}`;
}

/** A score at the start and now, with the paired difference and its interval. */
function ScoreCard(props: {
  readonly text: EvalMetricText;
  readonly last: EvalReport;
  /** Pictures of the report rows. */
  readonly pictures: number;
  readonly chosen: boolean;
  readonly onChoose: () => void;
}): ReactNode {
  const { text, last, pictures, chosen, onChoose } = props;
  const score = scoreOf(last, text.id);
  const difference = score?.difference ?? null;
  const lacking = lackingText(score?.n ?? last.n, last.n);
  const partner = text.id === "grounding_iou" || text.id === "caption_meteor" ? last.partner?.[text.id] : undefined;
  return (
    <button
      type="button"
      className="choice grid gap-2px p-2-3 framed round-l surface text-left pointer"
      aria-pressed={chosen}
      title={text.help}
      onClick={onChoose}
    >
      <span className="muted small">{text.title}</span>
      <span className={`flex gap-2 align-baseline ${styles.cardValue}`}>
        <b>{scoreText(score?.mean)}</b>
        {difference !== null && <small>from {scoreText(score?.start)}</small>}
      </span>
      <span className={styles.cardDifference} data-verdict={verdict(difference, pictures)}>
        {difference === null ? noDifference(last) : differenceText(difference)}
      </span>
      {lacking !== "" && <span className="muted small">{lacking}</span>}
      {partner !== undefined && (
        <span
          className="muted small"
          title="Mean score of the partner's own answers, and their paired difference to the policy's. Captions end at the partner caption length"
        >
          Partner {scoreText(partner.mean)}, {differenceText(partner.difference)}
        </span>
      )}
    </button>
  );
}

function noDifference({ step, difference }: EvalReport): string {
  if (difference !== null) return "no start to compare with";
  return step === 0 ? "before the first step" : "first evaluation with this score";
}
