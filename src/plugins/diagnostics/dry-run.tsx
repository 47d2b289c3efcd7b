import type { ReactNode } from "react";
import { report } from "../../app/clients/lab.ts";
import { useStartBlocker } from "../../app/clients/run/run-actions.ts";
import { dryRun } from "../../app/clients/run/start-run.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { DRY_RUN, stopJob, useJob } from "../../app/stores/jobs.ts";
import { PHASE_NAMES } from "../../app/stores/run/run.ts";
import { useSession } from "../../app/stores/session.ts";

/** The button of the dry run; while it runs, its step and phase, and a button that ends it. */
export default function DryRun(): ReactNode {
  const job = useJob(DRY_RUN);
  const judged = useSession(({ config }) => config.judge !== "off");
  const blocker = useStartBlocker();
  if (job?.state !== "running") {
    return (
      <p className="row wrap gap-2 muted small">
        <Button data-testid="dry-run" blocker={blocker} onClick={() => report(dryRun())}>
          Dry run
        </Button>
        Runs two steps{judged && " without the judge"} and stores nothing
      </p>
    );
  }
  const place = job.progress;
  const words = place === null ? "Preparing" : `Step ${place.step} of 2: ${PHASE_NAMES[place.phase]}`;
  return (
    <p className="row wrap gap-2 muted small">
      <Button
        data-testid="dry-run-cancel"
        blocker={job.stopping ? "The dry run ends after this phase" : null}
        onClick={() => stopJob(DRY_RUN)}
      >
        Cancel
      </Button>
      <span data-testid="dry-run-phase">
        {words}
        {place !== null && place.loop !== null && ` (loop ${place.loop})`}
      </span>
    </p>
  );
}
