import type { ReactNode } from "react";
import { activeLoops } from "../../../engine/config/derived.ts";
import { fewPicturesText, meanText, rangeText, verdict } from "../../../engine/runs/evaluations/difference-text.ts";
import { lackingText } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import { reportPictures } from "../../../engine/runs/evaluations/row-image.ts";
import { runResult, type ScoreResult } from "../../../engine/runs/library/run-result.ts";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { CopyPanel } from "../../components/ui/panel/copy-panel.tsx";
import { linkTo } from "../../stores/route.ts";
import { useRun } from "../../stores/run/run.ts";
import { counted, NONE } from "../../styles/format.ts";
import { SAMPLED_REWARD } from "../eval/score-card.tsx";
import styles from "./train.module.css";

/**
 * What a run achieved on held-out rows so far: the change of each loop's reward, and where to look at it. The run of this page
 * has the card from its start, with dashes until it was evaluated twice, so that nothing moves when the result comes.
 */
export function ResultCard(props: {
  readonly run: ViewedRun;
  readonly evaluations: readonly StoredEvaluation[];
}): ReactNode {
  const { run, evaluations: list } = props;
  const holdsOut = useRun((state) => run.live && state.heldOutRows > 0);
  const result = runResult(list);
  const { config } = run.manifest ?? {};
  const expected = holdsOut && config !== undefined && config.mode !== "sft" && config.evalSteps > 0;
  if (result === null && !expected) return null;
  const few = result === null ? "" : fewPicturesText(reportPictures(result.last.rows));
  const scores = result?.scores.filter(({ id }) => SAMPLED_REWARD.test(id));
  return (
    <section className="grid gap-2" aria-label="Result" data-testid="result">
      <div className={`grid ${styles.gains}`}>
        {scores?.map((score) => (
          <Gain key={score.id} loop={SAMPLED_REWARD.exec(score.id)?.[1]} result={score} of={result?.last.report.n} />
        )) ?? activeLoops(config as NonNullable<typeof config>).map((loop) => <Gain key={loop} loop={loop} />)}
      </div>
      <p className="row wrap gap-2-4 muted">
        <span>
          Step {result?.first.report.step ?? 0} to {result?.last.report.step ?? NONE}, reward of sampled answers, 95 %
          interval
        </span>
        <a href={linkTo({ screen: "eval", run: run.place })}>Best and worst rows</a>
        <a href={linkTo({ screen: "runs" })}>Export</a>
        <CopyPanel name="the result" />
        {/* Last, so that it moves nothing when it comes. */}
        {few !== "" && <span className="warn">{few}</span>}
      </p>
    </section>
  );
}

/** A loop's gain. @param result undefined before the second evaluation */
function Gain(props: {
  readonly loop: string | number | undefined;
  readonly result?: ScoreResult;
  readonly of?: number | undefined;
}): ReactNode {
  const { loop, result, of } = props;
  const difference = result?.score.difference ?? null;
  return (
    <div className="row gap-3">
      <b className={`bold ${styles.gain}`} data-verdict={verdict(difference)}>
        {difference === null ? NONE : meanText(difference)}
      </b>
      <p className="grid">
        <span>
          loop {loop} on{" "}
          {result === undefined ? "held-out rows" : counted(result.better + result.worse + result.same, "held-out row")}
        </span>
        <span className="muted small">
          {result === undefined
            ? "shown after the second evaluation"
            : `${result.better} better, ${result.worse} worse · ${rangeText(result.score.difference)}`}
          {result !== undefined && of !== undefined && result.score.n < of && ` · ${lackingText(result.score.n, of)}`}
        </span>
      </p>
    </div>
  );
}
