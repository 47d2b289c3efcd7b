import type { ReactNode } from "react";
import { activeLoops } from "../../../engine/config/derived.ts";
import { gainsOf } from "../../../engine/runs/evaluations/gains.ts";
import type { RunDigest } from "../../../engine/runs/library/digest.ts";
import { Button } from "../../components/ui/button.tsx";
import { EVALUATION, stopJob, useJobs, useRunning } from "../../stores/jobs.ts";
import { counted, formatBytes } from "../../styles/format.ts";
import { exportsIn, forgetExports } from "./export-run.ts";
import styles from "./runs.module.css";

export const knownGains = ({ gains, manifest: { config } }: RunDigest) =>
  gainsOf(
    gains.map(({ score }) => score),
    config.mode !== "rl" ? [] : activeLoops(config),
  );

/** Progress of an evaluation. */
export function evaluationText({ done, total }: { readonly done: number; readonly total: number }): string {
  return total === 0 ? "reading the checkpoint" : `${done} of ${counted(total, "row")}`;
}

/**
 * The evaluation of a checkpoint and the exports that take a while, each with a button that stops it, and what was saved
 * last. It lies over the foot of the screen, so that it moves nothing.
 */
export function Ongoing(): ReactNode {
  const evaluation = useRunning(EVALUATION);
  const exports = exportsIn(useJobs());
  const saved = exports.find(({ state }) => state === "done")?.result ?? null;
  const ongoing = exports.filter(
    ({ state, progress: { merged, done } }) => state === "running" && (merged || done > 0),
  );
  const nothing = evaluation === null && ongoing.length === 0 && saved === null;
  return (
    <div className={nothing ? "" : `grid gap-2 framed round-m surface p-3 ${styles.ongoing}`} role="status">
      {evaluation !== null && (
        <Line onStop={() => stopJob(EVALUATION)}>
          Evaluating step {evaluation.step} of {evaluation.title}: {evaluationText(evaluation)}
        </Line>
      )}
      {ongoing.map(({ kind, progress: one }) => (
        <Line
          key={kind.name}
          onStop={one.merged && one.total > 0 && one.done === one.total ? null : () => stopJob(kind)}
        >
          {one.merged ? "Merging" : "Exporting"} {one.title}: {one.merged ? mergeText(one) : zipText(one)}
        </Line>
      ))}
      <p className="row wrap gap-2 between m-0 anywhere">
        <span data-testid="exported">{saved}</span>
        {saved !== null && <Button onClick={forgetExports}>OK</Button>}
      </p>
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
    <p className="row wrap gap-2 m-0">
      {props.children}
      {props.onStop !== null && <Button onClick={props.onStop}>Stop</Button>}
    </p>
  );
}
