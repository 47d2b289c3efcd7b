import type { ReactNode } from "react";
import { Button, CopyText } from "../components/ui/button.tsx";
import { IconClose, IconWarning } from "../components/ui/icons.tsx";
import { Dialog } from "../components/ui/overlays.tsx";
import { linkTo, navigate } from "../stores/route.ts";
import { alarmKey, dismissAlarm, useRun } from "../stores/run/run.ts";
import { dismissProblem, type Problem, useSession } from "../stores/session.ts";
import styles from "./problems.module.css";

/** Open problems, newest first, until they are dismissed. */
export function ProblemList(props: { readonly onAll: () => void }): ReactNode {
  const problems = useSession((session) => session.problems);
  const shown = problems.slice(-2).reverse();
  return (
    <section className="column-flex" aria-label="Problems" role="alert" data-testid="problems">
      {shown.map((problem) => (
        <ProblemLine key={problem.id} problem={problem} />
      ))}
      {problems.length > shown.length && (
        <Button kind="quiet" className={styles.more ?? ""} onClick={props.onAll}>
          {problems.length - shown.length} more…
        </Button>
      )}
    </section>
  );
}

function ProblemLine({ problem: { id, code, message, times } }: { readonly problem: Problem }): ReactNode {
  // There, runs can be deleted and the space that they take is shown.
  const runs = code === "storage" ? <a href={linkTo({ screen: "runs" })}>Stored runs</a> : null;
  return (
    <Line onDismiss={() => dismissProblem(id)} action={runs}>
      {message}
      {times > 1 && <span className="muted"> × {times}</span>}
    </Line>
  );
}

function Line(props: {
  readonly severity?: string;
  readonly onDismiss: () => void;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}): ReactNode {
  const { severity, onDismiss, action, children } = props;
  return (
    <div className={`flex gap-2 bad bad-soft ${styles.problem}`} data-severity={severity}>
      <IconWarning />
      <p>{children}</p>
      {action}
      <Button kind="quiet" icon={<IconClose />} aria-label="Dismiss" title="Dismiss" onClick={onDismiss} />
    </div>
  );
}

/** Problems of the page and alarms of the run together. */
export function WarningsDialog(props: {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}): ReactNode {
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
            className={`p-0 accent pointer clear borderless ${styles.step}`}
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
