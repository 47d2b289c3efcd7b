import type { ReactNode } from "react";
import type { Plan as RunPlan } from "../../../engine/session/plan.ts";
import { report } from "../../clients/lab.ts";
import { openModel } from "../../clients/loading.ts";
import { useStartBlocker } from "../../clients/run/run-actions.ts";
import { dryRun } from "../../clients/run/start-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { DRY_RUN, stopJob, useJob } from "../../stores/jobs.ts";
import { PHASE_NAMES } from "../../stores/run/run.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import { formatBytes } from "../../styles/format.ts";

type Fit = RunPlan["fit"];

/** Changes of settings that make the run fit. */
export function Changes({ fit }: { readonly fit: Fit }): ReactNode {
  const folder = useSession((session) => session.modelFolder);
  if (fit.changes.length === 0) return null;
  return (
    <div className="grid gap-1" data-testid="fit-changes">
      <h3>{fit.changes.length === 1 ? "This is enough" : "Each of these changes alone is enough"}</h3>
      <ul className="grid gap-1 m-0 p-0 no-bullets">
        {fit.changes.slice(0, 6).map(({ label, values, reload, peak }) => (
          <li key={label} className="row gap-2 between">
            <span>
              {label} <small className="muted">{formatBytes(peak)}</small>
            </span>
            <Button
              aria-label={`Set ${label}`}
              blocker={reload && folder === null ? "Open the model's folder first: it has to be read again" : null}
              onClick={() => {
                changeConfig(values);
                if (reload && folder !== null) report(openModel(folder, true));
              }}
            >
              {reload ? "Set and load again" : "Set"}
            </Button>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The button of the dry run; while it runs, its step and phase, and a button that ends it. */
export function DryRun(): ReactNode {
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
