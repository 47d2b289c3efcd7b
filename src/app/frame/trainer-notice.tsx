import { type ReactNode, useState } from "react";
import { report } from "../clients/lab.ts";
import { restartTrainer } from "../clients/loading.ts";
import { findInterrupted, untilReleased } from "../clients/run/interrupted.ts";
import { Button } from "../components/ui/button.tsx";
import { IconStop } from "../components/ui/icons.tsx";
import { isActive, useRun } from "../stores/run/run.ts";
import { useSession } from "../stores/session.ts";
import styles from "./problems.module.css";

/** Offers to end a trainer that no longer answers, and to restart one that failed. */
export function TrainerNotice(): ReactNode {
  const silent = useSession((session) => session.trainerSilent);
  const ended = useSession((session) => session.trainerEnded);
  const training = useRun(({ state }) => isActive(state));
  const [ending, setEnding] = useState(false);
  if (silent === null && !ended) return null;
  const end = async (): Promise<void> => {
    const { runId } = useRun.getState();
    setEnding(true);
    try {
      await restartTrainer();
    } finally {
      setEnding(false);
      if (runId !== null) await untilReleased(runId);
      await findInterrupted();
    }
  };
  const kept = training
    ? "The run is kept up to its last checkpoint and can be resumed from it"
    : "Stored runs are kept";
  return (
    <div className={`flex wrap gap-2 align-centre ${styles.interrupted}`} role="alert" data-testid="trainer-notice">
      <p>
        {ended ? "The trainer has failed. " : `The trainer has not answered for ${silent} s. `}
        {kept}
      </p>
      <Button
        kind={ended ? "primary" : "danger"}
        icon={<IconStop />}
        blocker={ending ? "The trainer is being replaced" : null}
        onClick={() => report(end())}
      >
        {ended ? "Restart the trainer" : "End the trainer"}
      </Button>
    </div>
  );
}
