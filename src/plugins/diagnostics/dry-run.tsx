import type { ReactNode } from "react";
import { lab, pluginCalls, report } from "../../app/clients/lab.ts";
import { requireAgreed } from "../../app/clients/run/agreed.ts";
import { useStartBlocker } from "../../app/clients/run/run-actions.ts";
import { newRows } from "../../app/clients/run/start-run.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { DRY_RUN, startJob, stopJob, useJob } from "../../app/stores/jobs.ts";
import { dryRunSubject } from "../../app/stores/measured.ts";
import { PHASE_NAMES } from "../../app/stores/run/run.ts";
import { useSession } from "../../app/stores/session.ts";
import { dryRunSettings } from "../../engine/session/dry-run.ts";
import type { DiagnosticsCalls } from "./diagnostics-calls.ts";

/** The button of the dry run; while it runs, its step and phase, and a button that ends it. */
export default function DryRun(): ReactNode {
  const job = useJob(DRY_RUN);
  const judged = useSession(({ config }) => config.judge !== "off");
  const blocker = useStartBlocker();
  if (job?.state !== "running") {
    return (
      <p className="row wrap gap-2 muted small">
        <Button data-testid="dry-run" blocker={blocker} onClick={() => report(measure())}>
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

/**
 * Measures two steps with the current settings; nothing is stored. The result is shown until settings, rows or model change.
 * @throws LabError("cancelled") when it was cancelled
 */
async function measure(): Promise<void> {
  const [{ config }, of] = [useSession.getState(), dryRunSubject()];
  await startJob(DRY_RUN, null, async (signal, show) => {
    await requireAgreed(dryRunSettings(config), "The settings of this page", lab().reward.allow);
    return {
      dryRun: await pluginCalls<DiagnosticsCalls>("trainer").dryRun(config, await newRows(config), show, signal),
      of,
    };
  });
}
