import type { ReactNode } from "react";
import type { StoredEvaluation } from "../../../engine/runs/evaluations.ts";
import { runResult, type ScoreResult } from "../../../engine/runs/run-result.ts";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { linkTo } from "../../stores/route.ts";
import { counted, signed } from "../../styles/format.ts";
import styles from "./train.module.css";

const REWARD = /^reward(\d)_sampled$/;

/** What a run achieved on held-out rows: the change of each loop's reward, and where to look at it. */
export function ResultCard(props: {
  readonly run: ViewedRun;
  readonly evaluations: readonly StoredEvaluation[];
}): ReactNode {
  const { run, evaluations: list } = props;
  const result = runResult(list);
  if (result === null) return null;
  const place = run.live || run.recorded ? null : run.runId;
  const rewards = result.scores.filter(({ id }) => REWARD.test(id));
  return (
    <section className={`grid gap-2 ${styles.result}`} aria-label="Result" data-testid="result">
      {rewards.map((score) => (
        <Line key={score.id} {...score} />
      ))}
      <p className="row wrap gap-2-4 muted">
        <span>
          Step {result.first.report.step} to {result.last.report.step}, reward of sampled answers, 95 % interval
        </span>
        <a href={linkTo({ screen: "eval", run: place })}>Best and worst rows</a>
        <a href={linkTo({ screen: "runs" })}>Export</a>
      </p>
    </section>
  );
}

function Line({ id, score, better, worse }: ScoreResult): ReactNode {
  const { mean, low, high } = score.difference;
  const verdict = low > 0 ? "better" : high < 0 ? "worse" : "open";
  return (
    <p className="row wrap gap-2-3 align-baseline">
      <b className={styles.gain} data-verdict={verdict}>
        {signed(mean, 3)}
      </b>
      <span className="large">
        loop {REWARD.exec(id)?.[1]} on {counted(score.n, "held-out row")}: {better} better, {worse} worse
      </span>
      <span className="muted">
        {signed(low, 3)} to {signed(high, 3)}
      </span>
    </p>
  );
}
