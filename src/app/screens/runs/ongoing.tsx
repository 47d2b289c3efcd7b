import type { ReactNode } from "react";
import { Button } from "../../components/ui/button.tsx";
import { useCheckpointEvaluation } from "../../stores/run/checkpoint-evaluation.ts";
import { useExports } from "../../stores/run/exports.ts";
import { evaluationText } from "./run-checkpoints.tsx";

/** The evaluation of a checkpoint and the merge in progress, each with a button that stops it. */
export function Ongoing(): ReactNode {
  const evaluation = useCheckpointEvaluation();
  const merging = useExports((state) => state.merging);
  return (
    <>
      {evaluation !== null && (
        <Line onStop={evaluation.stop}>
          Evaluating step {evaluation.step} of {evaluation.title}: {evaluationText(evaluation)}
        </Line>
      )}
      {merging !== null && (
        <Line onStop={merging.total > 0 && merging.done === merging.total ? null : merging.stop}>
          Merging {merging.title}: {mergeText(merging)}
        </Line>
      )}
    </>
  );
}

function mergeText({ done, total }: { readonly done: number; readonly total: number }): string {
  if (total === 0) return "reading the base model";
  return done < total ? `${done} of ${total} tensors` : "comparing it with base and adapter";
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
