/** Forks with settings against the cause of an alarm, beside it. */
import { type ReactNode, useMemo, useState } from "react";
import { report } from "../../app/clients/lab.ts";
import { useResumeNeeds } from "../../app/clients/run/resume.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { takeRemedy } from "./fork-run.ts";
import { remediesOf } from "./remedy.ts";

/** The changes that an alarm proposes; each continues a copy of the run from before the alarm. */
export default function Remedies({ alarm, run }: Places["remedies"]): ReactNode {
  const { manifest, source, writable } = run;
  const needs = useResumeNeeds(manifest);
  const [taken, setTaken] = useState(false);
  const remedies = useMemo(
    () => (manifest === null ? [] : remediesOf(alarm.id, manifest.config)),
    [alarm.id, manifest],
  );
  // A run elsewhere fills the form; one that another tab trains is left to it.
  const stored = source !== "elsewhere";
  if (manifest === null || (stored && !writable) || remedies.length === 0) return null;
  return (
    <span className="flex wrap gap-1 mt-1">
      {remedies.map(({ label, changes }) => (
        <Button
          key={label}
          blocker={stored ? (needs?.blocker ?? null) : null}
          disabled={taken}
          title="Forks the run at the checkpoint before this step; without one, fills the Setup form"
          onClick={() => {
            setTaken(true);
            report(takeRemedy(manifest, stored, alarm.step, changes).finally(() => setTaken(false)));
          }}
        >
          {label}
        </Button>
      ))}
    </span>
  );
}
