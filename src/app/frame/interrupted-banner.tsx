import { type ReactNode, useState } from "react";
import { report } from "../clients/lab.ts";
import { deleteRun, forgetInterrupted } from "../clients/run/interrupted.ts";
import { resumeAndShow, resumeNeeds } from "../clients/run/resume.ts";
import { Button } from "../components/ui/button.tsx";
import { IconClose, IconPlay } from "../components/ui/icons.tsx";
import { openRowsOf } from "../components/upload/pickers.tsx";
import { navigate } from "../stores/route.ts";
import { useOtherTabs } from "../stores/run/other-tabs.ts";
import { isActive, useRun } from "../stores/run/run.ts";
import { useSession } from "../stores/session.ts";
import { formatBytes } from "../styles/format.ts";
import styles from "./problems.module.css";

/** Offers to resume the run that the last visit left unfinished. */
export function InterruptedBanner(): ReactNode {
  const run = useSession(({ interrupted }) => interrupted);
  const session = useSession();
  const busy = useRun(({ state }) => isActive(state));
  const held = useOtherTabs();
  const [sure, setSure] = useState(false);
  // Another tab has resumed it, or evaluates one of its checkpoints.
  if (run === null || busy || held.includes(run.manifest.id)) return null;
  const { manifest, steps, checkpoints, bytes } = run;
  const saved = checkpoints.at(-1);
  const { label, blocker } = resumeNeeds(manifest, session);
  const look = (): void => {
    forgetInterrupted();
    navigate({ screen: "train", run: manifest.id, step: null, rollout: null });
  };
  return (
    <div className={`flex wrap gap-2 align-centre ${styles.interrupted}`} role="status" data-testid="interrupted">
      <p>
        <b>{manifest.title}</b> stopped at step {steps} of {manifest.config.steps},{" "}
        {saved === undefined ? "without a checkpoint" : `checkpoint of step ${saved}`}
      </p>
      <Button
        kind="primary"
        icon={<IconPlay />}
        blocker={saved === undefined ? "The run has no checkpoint" : blocker}
        onClick={() => report(resumeAndShow(manifest, openRowsOf))}
      >
        {label}
      </Button>
      <Button onClick={look}>View</Button>
      <Button kind="danger" onClick={() => (sure ? report(deleteRun(manifest.id)) : setSure(true))}>
        {sure ? `Delete ${formatBytes(bytes)}` : "Delete…"}
      </Button>
      <Button kind="quiet" icon={<IconClose />} aria-label="Dismiss" title="Dismiss" onClick={forgetInterrupted} />
    </div>
  );
}
