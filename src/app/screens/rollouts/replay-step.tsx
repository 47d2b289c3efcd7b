import type { ReactNode } from "react";
import type { ReplayReport } from "../../../engine/session/replay.ts";
import { replayStep } from "../../clients/run/start-run.ts";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { linkTo, useRoute } from "../../stores/route.ts";
import { counted } from "../../styles/format.ts";
import { Repeated } from "./repeated.tsx";

/**
 * Repeats the step from its seeds and the checkpoint before it, and says whether the result equals the log bit for bit.
 */
export function ReplayStep({ run, step }: { readonly run: ViewedRun; readonly step: number }): ReactNode {
  return (
    <div className="grid gap-3" data-testid="replay">
      <Repeated
        run={run}
        step={step}
        about="Repeats the step from its seeds and the checkpoint before it, and compares every metric, caption, mask and log-probability with the log; nothing is stored"
        label={`Replay step ${step}`}
        work={(manifest, onStep, signal) => replayStep(manifest, step, onStep, signal)}
      >
        {(report) => <Outcome report={report} />}
      </Repeated>
    </div>
  );
}

function Outcome({ report }: { readonly report: ReplayReport }): ReactNode {
  const run = useRoute((route) => route.run);
  const { step, from, metrics, otherMetrics, rollouts, otherRollouts } = report;
  const origin = from === 0 ? "the start" : `the checkpoint of step ${from}`;
  const all = `${counted(rollouts, "rollout")} and ${counted(metrics, "metric")}`;
  if (otherMetrics.length + otherRollouts.length === 0) {
    return <b className="accent" role="status">{`Repeated from ${origin}: ${all} equal the log bit for bit`}</b>;
  }
  return (
    <p className="muted" role="status">
      {`Repeated from ${origin}: ${otherRollouts.length} of ${counted(rollouts, "rollout")} and ${otherMetrics.length} of ${counted(metrics, "metric")} differ: `}
      {otherMetrics
        .slice(0, 3)
        .map(({ name, logged, now }) => `${name} ${logged} → ${now ?? "–"}`)
        .join(", ")}
      {otherRollouts[0] !== undefined && (
        <a href={linkTo({ screen: "rollouts", run, step, rollout: otherRollouts[0] })}> first rollout</a>
      )}
    </p>
  );
}
