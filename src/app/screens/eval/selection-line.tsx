import type { ReactNode } from "react";
import type { BestCheckpoint } from "../../../engine/runs/checkpoint/best-checkpoint.ts";
import { fewPicturesText } from "../../../engine/runs/evaluations/difference-text.ts";
import { reportPictures, selectionName } from "../../../engine/runs/evaluations/evaluation-scores.ts";
import type { EvalReport, StoredEvaluation } from "../../../engine/runs/evaluations/evaluations.ts";
import { counted, fixed } from "../../styles/format.ts";

/** How the best checkpoint was chosen, and whether the report rows are few; no number includes the selection rows. */
export function SelectionLine(props: {
  readonly shown: StoredEvaluation;
  readonly best: BestCheckpoint | null;
}): ReactNode {
  const { report, rows } = props.shown;
  const few = fewPicturesText(reportPictures(rows));
  return (
    <p className="muted" data-testid="eval-selection">
      {selectionSentence(report, props.best)}
      {few !== "" && ` The report rows are few: ${few}.`}
    </p>
  );
}

function selectionSentence(report: EvalReport, best: BestCheckpoint | null): string {
  const { selection } = report;
  if (selection === null) return "There are no selection rows, so no best checkpoint is chosen.";
  const name = selectionName(report);
  const rows = `${counted(selection.n, "selection row")}. Scores below leave ${selection.n === 1 ? "it" : "them"} out.`;
  if (best === null) {
    return `Best checkpoint: none, because no step with a checkpoint was evaluated. It is chosen by ${name} on ${rows}`;
  }
  return `Best checkpoint: step ${best.step}, with ${name} ${fixed(best.selection.value, 3)} on ${rows}`;
}
