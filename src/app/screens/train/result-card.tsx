import { type ReactNode, useMemo } from "react";
import { activeLoops } from "../../../engine/config/derived.ts";
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
import { GainNumbers } from "../../components/gain-numbers.tsx";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { CopyPanel } from "../../components/ui/panel/copy-panel.tsx";
import { linkTo } from "../../stores/route.ts";
import { useRun } from "../../stores/run/run.ts";
import { counted, NONE } from "../../styles/format.ts";
import styles from "./train.module.css";

/**
 * What a run achieved on held-out rows so far, and where to look at it. The run of this page has the card from its
 * start, with dashes until it was evaluated twice, so that nothing moves when the result comes.
 */
export function ResultCard(props: {
  readonly run: ViewedRun;
  readonly evaluations: readonly StoredEvaluation[];
}): ReactNode {
  const { run, evaluations: list } = props;
  const holdsOut = useRun((state) => run.live && state.heldOutRows > 0);
  const result = useMemo(() => runResult(list), [list]);
  const { config } = run.manifest ?? {};
  const expected = holdsOut && config !== undefined && config.mode !== "sft" && config.evalSteps > 0;
  if (result === null && !expected) return null;
  const pictures = result === null ? 0 : reportPictures(result.last.rows);
  const few = result === null ? "" : fewPicturesText(pictures);
  const known = result === null ? SCORES : result.scores.map(({ id }) => id);
  const loops = config === undefined ? [] : activeLoops(config);
  const gains = gainsOf(known, loops);
  return (
    <section className="grid gap-2" aria-label="Result" data-testid="result">
      <div className={`grid ${styles.gains}`}>
        {gains.map((gain) => (
          <Headline key={gain.name} gain={gain} result={result} pictures={pictures} />
        ))}
      </div>
      <p className="row wrap gap-2-4 muted">
        <span>
          Step {result?.first.report.step ?? 0} to {result?.last.report.step ?? NONE}, 95 % intervals
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
        {gain.name} on {n === undefined ? "held-out rows" : counted(n, "held-out row")}
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
