import type { ReactNode } from "react";
import { rangeText, signed, verdict } from "../../engine/runs/evaluations/difference-text.ts";
import type { ScoreId } from "../../engine/runs/evaluations/evaluation-scores.ts";
import type { Interval } from "../../engine/runs/evaluations/evaluations.ts";
import type { Gain } from "../../engine/runs/evaluations/gains.ts";
import { NONE } from "../styles/format.ts";

const TITLES = {
  greedy: "Answers without sampling and masks without exploration noise",
  sampled: "Answers drawn as in training; this score also rises where answers only become less random",
} as const;

/** The paired differences of a gain, greedy first, each with its 95 % interval; a dash before they are measured. */
export function GainNumbers(props: {
  readonly gain: Gain;
  readonly of: (id: ScoreId) => Interval | null;
  /** Pictures behind the numbers; too few get no colour. */
  readonly pictures: number;
  readonly className?: string;
  /** What else is known about a score, below its interval. */
  readonly note?: (id: ScoreId) => ReactNode;
}): ReactNode {
  const { gain, of, pictures, className = "", note } = props;
  return (
    <span className={className} data-testid="gain-numbers">
      {gain.scores.map(({ id, answers }) => {
        const difference = of(id);
        return (
          <span key={id} className="nowrap" title={TITLES[answers]} data-answers={answers}>
            <span className="muted small">{answers}</span>{" "}
            <b data-verdict={verdict(difference, pictures)}>{difference === null ? NONE : signed(difference.mean)}</b>{" "}
            <small className="muted">
              {difference !== null && rangeText(difference)}
              {note?.(id)}
            </small>
          </span>
        );
      })}
    </span>
  );
}
