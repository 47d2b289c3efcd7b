import type { ReactNode } from "react";
import type { BestCheckpoint } from "../../../engine/runs/checkpoint/best-checkpoint.ts";
import { SELECTION_NAMES } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { Button } from "../../components/ui/button.tsx";
import { linkTo } from "../../stores/route.ts";
import { useCheckpointEvaluation } from "../../stores/run/checkpoint-evaluation.ts";
import { counted, fixed } from "../../styles/format.ts";
import styles from "./runs.module.css";

/** Checkpoints of a run: each leads to its held-out scores, or has them computed. */
export function RunCheckpoints(props: {
  readonly run: RunDigest;
  readonly blocker: string | null;
  readonly onEvaluate: (step: number) => void;
}): ReactNode {
  const { run, blocker, onEvaluate } = props;
  const { manifest, checkpoints, evaluated, best } = run;
  const now = useCheckpointEvaluation();
  if (checkpoints.length === 0) return "–";
  return (
    <>
      <ul className="no-bullets m-0 p-0">
        {checkpoints.map((step) => (
          <li key={step} className={`row gap-2 ${styles.checkpoint}`}>
            <span>
              {step}
              {step === best?.step && " (best)"}
            </span>
            {now?.runId === manifest.id && now.step === step ? (
              <span className="muted small">{evaluationText(now)}</span>
            ) : evaluated.includes(step) ? (
              <a href={linkTo({ screen: "train", tab: "held-out", run: manifest.id, step })}>scores</a>
            ) : (
              <Button
                kind="quiet"
                data-testid="evaluate-checkpoint"
                aria-label={`Evaluate step ${step} of ${manifest.title}`}
                blocker={now === null ? blocker : "Another checkpoint is being evaluated"}
                onClick={() => onEvaluate(step)}
              >
                Evaluate
              </Button>
            )}
          </li>
        ))}
      </ul>
      {best !== null && <small className={`block muted ${styles.chosenBy}`}>{bestText(best)}</small>}
    </>
  );
}

/** Progress of an evaluation. */
export function evaluationText({ done, total }: { readonly done: number; readonly total: number }): string {
  return total === 0 ? "reading the checkpoint" : `${done} of ${total} rows`;
}

/** How the best checkpoint was chosen. */
function bestText({ selection }: BestCheckpoint): string {
  return `best by ${SELECTION_NAMES[selection.metric]} ${fixed(selection.value, 3)} on ${counted(selection.n, "selection row")}`;
}
