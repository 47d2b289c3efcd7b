import type { ReactNode } from "react";
import { startBlocker } from "../../clients/run/blockers.ts";
import { act, actionBlocker } from "../../clients/run/run-actions.ts";
import { Button } from "../../components/ui/button.tsx";
import { IconPlay } from "../../components/ui/icons.tsx";
import { useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import styles from "./side.module.css";

/** The start button and its blocker. */
export function StartBar(): ReactNode {
  const busy = useRun((run) => actionBlocker("start", run.state));
  const missing = useSession(startBlocker);
  const blocker = busy ?? missing;
  return (
    <div className="row gap-3">
      <Button
        kind="primary"
        className={styles.startButton ?? ""}
        icon={<IconPlay />}
        blocker={blocker}
        data-testid="start"
        onClick={() => act("start")}
      >
        Start
      </Button>
      <p className={`muted ${styles.reason}`} data-testid="start-reason">
        {blocker ?? "Ready to start"}
      </p>
    </div>
  );
}
