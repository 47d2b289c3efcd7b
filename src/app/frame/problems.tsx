import type { ReactNode } from "react";
import { Button } from "../components/ui/button.tsx";
import { IconClose, IconWarning } from "../components/ui/icons.tsx";
import { linkTo } from "../stores/route.ts";
import { dropProblems, type Problem, useSession } from "../stores/session.ts";
import styles from "./frame.module.css";

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

export function ProblemLine({ problem: { id, code, message, times } }: { readonly problem: Problem }): ReactNode {
  // There, runs can be deleted and the space that they take is shown.
  const runs = code === "storage" ? <a href={linkTo({ screen: "runs" })}>Stored runs</a> : null;
  return (
    <Line onDismiss={() => dropProblems((problem) => problem.id === id)} action={runs}>
      {message}
      {times > 1 && <span className="muted"> × {times}</span>}
    </Line>
  );
}

export function Line(props: {
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
