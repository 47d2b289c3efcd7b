import { type ReactNode, useEffect, useRef, useState } from "react";
import { toLabError } from "../../../engine/errors.ts";
import type { RunManifest } from "../../../engine/runs/manifest.ts";
import { loadedBlocker } from "../../clients/run/blockers.ts";
import type { ViewedRun } from "../../components/rollout/use-viewed-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { isActive, useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";

type State<T> =
  | { readonly kind: "idle" }
  | { readonly kind: "busy"; readonly at: number | null }
  | { readonly kind: "done"; readonly result: T }
  | { readonly kind: "failed"; readonly message: string };

/** A computation that repeats a stored run up to a step: a button, progress, and the result. */
export function Repeated<T>(props: {
  readonly run: ViewedRun;
  readonly step: number;
  readonly about: string;
  readonly label: string;
  readonly work: (run: RunManifest, onStep: (step: number) => void, signal: AbortSignal) => Promise<T>;
  readonly children: (result: T) => ReactNode;
}): ReactNode {
  const { run, step, about, label, work, children } = props;
  const active = useRun(({ state }) => isActive(state));
  const missing = useSession(loadedBlocker);
  const [state, setState] = useState<State<T>>({ kind: "idle" });
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  const { manifest, otherTabs } = run;
  if (manifest === null) return null;
  const blocker = active ? "Stop the run first" : otherTabs ? "This run is training in another tab" : missing;
  const start = async (): Promise<void> => {
    const stop = new AbortController();
    running.current = stop;
    setState({ kind: "busy", at: null });
    try {
      const result = await work(manifest, (at) => setState({ kind: "busy", at }), stop.signal);
      setState({ kind: "done", result });
    } catch (thrown) {
      const { code, message } = toLabError(thrown);
      setState(code === "cancelled" ? { kind: "idle" } : { kind: "failed", message });
    }
  };
  return (
    <>
      {state.kind !== "done" && <p className="muted">{about}</p>}
      <div className="row wrap gap-2-3">
        {state.kind === "busy" ? (
          <Button onClick={() => running.current?.abort()}>Stop</Button>
        ) : (
          <Button blocker={blocker} onClick={() => void start()}>
            {label}
          </Button>
        )}
        <span role="status" className={state.kind === "failed" ? "bad" : "muted"}>
          {state.kind === "failed" && state.message}
          {state.kind === "busy" && (state.at === null ? "Repeating the first step" : `Step ${state.at} of ${step}`)}
        </span>
      </div>
      {state.kind === "done" && children(state.result)}
    </>
  );
}
