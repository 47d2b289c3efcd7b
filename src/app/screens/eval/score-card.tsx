import type { ReactNode } from "react";
import { differenceText, verdict } from "../../../engine/runs/evaluations/difference-text.ts";
import { lackingText, scoreOf } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { EvalReport } from "../../../engine/runs/evaluations/evaluations.ts";
import { fixed } from "../../styles/format.ts";
import styles from "./eval.module.css";
import type { EvalMetricText } from "./eval-metrics.ts";

/** A score at the start and now, with the paired difference and its interval. */
export function ScoreCard(props: {
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
        <b>{fixed(score?.mean, 3)}</b>
        {difference !== null && <small>from {fixed(score?.start, 3)}</small>}
      </span>
      <span className={styles.cardDifference} data-verdict={verdict(difference, pictures)}>
        {difference === null ? noDifference(last) : differenceText(difference)}
      </span>
      {lacking !== "" && <span className="muted small">{lacking}</span>}
      {partner !== undefined && (
        <span
          className="muted small"
          title="Mean score of the EMA partner's own answers, and their paired difference to the policy's. Captions end at the partner caption length"
        >
          EMA partner {fixed(partner.mean, 3)}, {differenceText(partner.difference)}
        </span>
      )}
    </button>
  );
}

function noDifference({ step, difference }: EvalReport): string {
  if (difference !== null) return "no start to compare with";
  return step === 0 ? "before the first step" : "first evaluation with this score";
}
