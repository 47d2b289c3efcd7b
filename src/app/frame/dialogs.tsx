/** The dialogs of the frame; loaded when the first of them opens. */
import { lazy, type ReactNode, Suspense } from "react";
import { CopyText } from "../components/ui/button.tsx";
import { Dialog } from "../components/ui/overlays.tsx";
import { ErrorBoundary } from "../components/ui/panel/panel.tsx";
import { navigate, useRoute } from "../stores/route.ts";
import { alarmKey, dismissAlarm, useRun } from "../stores/run/run.ts";
import { useSession } from "../stores/session.ts";
import { ConsentDialog } from "./consent-dialog.tsx";
import { KeysDialog } from "./keys-dialog.tsx";
import { Line, ProblemLine } from "./problems.tsx";

const System = lazy(() => import("../screens/system/system.tsx"));

interface DialogState {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

export default function Dialogs(props: { readonly keys: DialogState; readonly warnings: DialogState }): ReactNode {
  const system = useRoute((route) => route.panel === "system");
  return (
    <>
      <KeysDialog {...props.keys} />
      <Dialog title="System" open={system} onOpenChange={(open) => !open && navigate({ panel: "none" })} wide named>
        <ErrorBoundary>
          <Suspense fallback={<p className="muted">Loading…</p>}>
            <System />
          </Suspense>
        </ErrorBoundary>
      </Dialog>
      <ConsentDialog />
      <WarningsDialog {...props.warnings} />
    </>
  );
}

/** Problems of the page and alarms of the run together. */
function WarningsDialog(props: DialogState): ReactNode {
  const problems = useSession((session) => session.problems);
  const alarms = useRun((run) => run.alarms);
  const report = [
    ...problems.map((problem) => `${problem.code}\t${problem.message}`),
    ...alarms.map((alarm) => `${alarm.severity}\tstep ${alarm.step}: ${alarm.message}`),
  ].join("\n");
  return (
    <Dialog title="Warnings" open={props.open} onOpenChange={props.onOpenChange} wide>
      {problems.length + alarms.length === 0 && <p>No warnings</p>}
      {[...alarms].reverse().map((alarm) => (
        <Line key={alarmKey(alarm)} severity={alarm.severity} onDismiss={() => dismissAlarm(alarm)}>
          <button
            type="button"
            className="link"
            onClick={() => {
              props.onOpenChange(false);
              navigate({ screen: "train", tab: "rollouts", run: null, step: alarm.step, rollout: null });
            }}
          >
            Step {alarm.step}
          </button>{" "}
          {alarm.message}
        </Line>
      ))}
      {[...problems].reverse().map((problem) => (
        <ProblemLine key={problem.id} problem={problem} />
      ))}
      {report !== "" && <CopyText label="Copy report" text={() => report} />}
    </Dialog>
  );
}
