import { type ReactNode, useEffect, useRef, useState } from "react";
import { toLabError } from "../../../engine/errors.ts";
import type { ReplayReport } from "../../../protocol/trainer.ts";
import { loadedBlocker } from "../../clients/blockers.ts";
import { replayStep } from "../../clients/start-run.ts";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { linkTo } from "../../stores/route.ts";
import { isActive, useRun } from "../../stores/run.ts";
import { useSession } from "../../stores/session.ts";
import { counted } from "../../styles/format.ts";

type State =
  | { readonly kind: "idle" }
  | { readonly kind: "busy"; readonly at: number | null; readonly stop: AbortController }
  | { readonly kind: "done"; readonly report: ReplayReport }
  | { readonly kind: "failed"; readonly message: string };

/** Repeats the step from its seeds and the checkpoint before it, and says whether the result has the bits of the log. */
export function ReplayStep({ run, step }: { readonly run: ViewedRun; readonly step: number }): ReactNode {
  const active = useRun(({ state }) => isActive(state));
  const missing = useSession(loadedBlocker);
  const [state, setState] = useState<State>({ kind: "idle" });
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const { manifest, otherTabs } = run;
  if (manifest === null) return null;
  const blocker = active ? "Stop the run first" : otherTabs ? "It is training in another tab" : missing;
  const start = async (): Promise<void> => {
    const stop = new AbortController();
    running.current = stop;
    setState({ kind: "busy", at: null, stop });
    try {
      const report = await replayStep(manifest, step, (at) => setState({ kind: "busy", at, stop }), stop.signal);
      setState({ kind: "done", report });
    } catch (thrown) {
      const { code, message } = toLabError(thrown);
      setState(code === "cancelled" ? { kind: "idle" } : { kind: "failed", message });
    }
  };
  return (
    <div className="grid gap-3" data-testid="replay">
      <p className="muted">
        The step runs again from its seeds and the checkpoint before it, without being stored; every metric, caption,
        mask and log-probability is compared with the log
      </p>
      <div className="row wrap gap-2-3">
        {state.kind === "busy" ? (
          <Button onClick={() => state.stop.abort()}>Stop the replay</Button>
        ) : (
          <Button blocker={blocker} onClick={() => void start()}>
            Replay step {step}
          </Button>
        )}
        <span role="status" className={state.kind === "failed" ? "bad" : "muted"}>
          <Outcome state={state} step={step} />
        </span>
      </div>
    </div>
  );
}

function Outcome({ state, step }: { readonly state: State; readonly step: number }): ReactNode {
  if (state.kind === "idle") return null;
  if (state.kind === "failed") return state.message;
  if (state.kind === "busy") return state.at === null ? "The first step is repeated" : `Step ${state.at} of ${step}`;
  const { from, metrics, otherMetrics, rollouts, otherRollouts } = state.report;
  const origin = from === 0 ? "the start" : `the checkpoint of step ${from}`;
  const all = `${counted(rollouts, "rollout")} and ${counted(metrics, "metric")}`;
  if (otherMetrics.length + otherRollouts.length === 0) {
    return <b className="accent">{`Repeated from ${origin}: ${all} equal the log bit for bit`}</b>;
  }
  return (
    <>
      {`Repeated from ${origin}: ${otherRollouts.length} of ${counted(rollouts, "rollout")} and ${otherMetrics.length} of ${counted(metrics, "metric")} differ: `}
      {otherMetrics
        .slice(0, 3)
        .map(({ name, logged, now }) => `${name} ${logged} → ${now ?? "–"}`)
        .join(", ")}
      {otherRollouts[0] !== undefined && (
        <a href={linkTo({ screen: "rollouts", step, rollout: otherRollouts[0] })}> first rollout</a>
      )}
    </>
  );
}
