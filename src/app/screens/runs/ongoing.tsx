import type { ReactNode } from "react";
import { Button } from "../../components/ui/button.tsx";
import { useCheckpointEvaluation } from "../../stores/run/checkpoint-evaluation.ts";
import { useExports } from "../../stores/run/exports.ts";
import { formatBytes } from "../../styles/format.ts";
import { evaluationText } from "./run-checkpoints.tsx";
import styles from "./runs.module.css";

/** The evaluation of a checkpoint and the exports that take a while, each with a button that stops it. */
export function Ongoing(): ReactNode {
  const evaluation = useCheckpointEvaluation();
  const ongoing = useExports((state) => state.ongoing).filter(({ merged, done }) => merged || done > 0);
  if (evaluation === null && ongoing.length === 0) return null;
  return (
    <div className={`grid gap-2 framed round-m surface p-3 ${styles.ongoing}`}>
      {evaluation !== null && (
        <Line onStop={evaluation.stop}>
          Evaluating step {evaluation.step} of {evaluation.title}: {evaluationText(evaluation)}
        </Line>
      )}
      {ongoing.map((one) => (
        <Line key={one.runId} onStop={one.merged && one.total > 0 && one.done === one.total ? null : one.stop}>
          {one.merged ? "Merging" : "Exporting"} {one.title}: {one.merged ? mergeText(one) : zipText(one)}
        </Line>
      ))}
    </div>
  );
}

function mergeText({ done, total }: { readonly done: number; readonly total: number }): string {
  if (total === 0) return "reading the base model";
  return done < total ? `${done} of ${total} tensors` : "comparing it with base and adapter";
}

function zipText({ done, total }: { readonly done: number; readonly total: number }): string {
  return total === 0 ? formatBytes(done) : `${formatBytes(done)} of ${formatBytes(Math.max(done, total))}`;
}

/** @param props.onStop null while it cannot be stopped */
function Line(props: { readonly children: ReactNode; readonly onStop: (() => void) | null }): ReactNode {
  return (
    <p className="row wrap gap-2 m-0" role="status">
      {props.children}
      {props.onStop !== null && <Button onClick={props.onStop}>Stop</Button>}
    </p>
  );
}
