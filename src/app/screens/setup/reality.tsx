import type { ReactNode } from "react";
import type { MeasuredStep } from "../../../engine/session/dry-run.ts";
import type { Plan as RunPlan } from "../../../engine/session/plan.ts";
import { report } from "../../clients/lab.ts";
import { startBlocker } from "../../clients/run/blockers.ts";
import { actionBlocker } from "../../clients/run/run-actions.ts";
import { dryRun } from "../../clients/run/start-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { useMeasured } from "../../stores/measured.ts";
import { PHASE_NAMES } from "../../stores/run/phase-names.ts";
import { useRun } from "../../stores/run/run.ts";
import { useSession } from "../../stores/session.ts";
import { formatBytes, formatSeconds } from "../../styles/format.ts";
import styles from "./fit.module.css";

/** The button of the dry run; while it runs, its step and phase, and a button that ends it. */
export function DryRun(): ReactNode {
  const now = useSession((session) => session.dryRun);
  const judged = useSession(({ config }) => config.judge !== "off");
  const busy = useRun((run) => actionBlocker("start", run.state));
  const missing = useSession(startBlocker);
  if (now === null) {
    return (
      <p className="row wrap gap-2 mt-3 muted small">
        <Button data-testid="dry-run" blocker={busy ?? missing} onClick={() => report(dryRun())}>
          Dry run
        </Button>
        Runs two steps{judged && " without the judge"} and stores nothing
      </p>
    );
  }
  const { place, stop } = now;
  const words = place === null ? "Preparing" : `Step ${place.step} of 2: ${PHASE_NAMES[place.phase]}`;
  return (
    <p className="row wrap gap-2 mt-3 muted small">
      <Button
        data-testid="dry-run-cancel"
        blocker={stop === null ? "The dry run ends after this phase" : null}
        onClick={() => stop?.()}
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

const compiling = (step?: MeasuredStep): string => (step === undefined || step.programs === 0 ? "" : ", compiling");

/** The forecast beside the measured values. */
export function Reality({ fit }: { readonly fit: RunPlan["fit"] }): ReactNode {
  const judged = useSession(({ config }) => config.judge !== "off");
  const measured = useMeasured();
  if (measured === null) return null;
  const { by, dryRun } = measured;
  const rows: (readonly [string, string, string])[] = [
    ["Held between steps", formatBytes(fit.held), formatBytes(measured.held)],
    ["Peak", formatBytes(fit.peak), formatBytes(measured.peak)],
    [`A step${compiling(dryRun?.second)}`, formatSeconds(fit.stepSeconds), formatSeconds(measured.seconds)],
  ];
  if (dryRun !== null) rows.push([`First step${compiling(dryRun.first)}`, "", formatSeconds(dryRun.first.seconds)]);
  return (
    <>
      <table className={`full-width ${styles.bytes}`} data-testid="fit-reality">
        <caption>Forecast and measured</caption>
        <tbody>
          {rows.map(([name, forecast, found]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{forecast}</td>
              <td>{found}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="mt-1 muted tiny">
        {dryRun === null ? `Measured in the ${by} of the run` : "“A step” is the second step of the dry run"}
        {dryRun !== null && judged && "; a run also waits for the judge"}
      </p>
      {dryRun?.smaller && <p className="mt-1 warn tiny">{dryRun.smaller}</p>}
    </>
  );
}
