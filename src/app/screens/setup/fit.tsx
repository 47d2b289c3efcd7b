import type { ReactNode } from "react";
import { MOST_GIGABYTES } from "../../../engine/plan/bytes-text.ts";
import type { MeasuredStep } from "../../../engine/session/dry-run.ts";
import type { Plan as RunPlan } from "../../../engine/session/plan.ts";
import { report } from "../../clients/lab.ts";
import { findMemory, openModel } from "../../clients/loading.ts";
import { startBlocker, useBlocker, useDeviceBlocker } from "../../clients/run/blockers.ts";
import { actionBlocker } from "../../clients/run/run-actions.ts";
import { dryRun } from "../../clients/run/start-run.ts";
import { Button } from "../../components/ui/button.tsx";
import { DRY_RUN, stopJob, useJob } from "../../stores/jobs.ts";
import { useMeasured } from "../../stores/measured.ts";
import { PHASE_NAMES, useRun } from "../../stores/run/run.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import { formatBytes, formatSeconds } from "../../styles/format.ts";
import styles from "./setup.module.css";

type Fit = RunPlan["fit"];

/** Forecast of GPU memory and step time, suggestions that make a run fit, and the measured values. */
export function FitTable(props: { readonly plan: RunPlan }): ReactNode {
  const { fit, checkpointBytes } = props.plan;
  const totals = [
    ["Held between steps", formatBytes(fit.held)],
    ["Peak, about", formatBytes(fit.peak)],
    ["Time per step on this device, about", formatSeconds(fit.stepSeconds)],
    ["Checkpoint size", formatBytes(checkpointBytes)],
  ] as const;
  return (
    <section aria-label="Memory and time" data-testid="fit">
      {fit.budget === null && <FindMemory />}
      <Fitted fit={fit} />
      <table className={`full-width ${styles.bytes}`}>
        <caption className="visually-hidden">Bytes per part</caption>
        <tbody>
          {fit.parts.map(({ part, bytes }) => (
            <tr key={part}>
              <th scope="row">{part}</th>
              <td>{formatBytes(bytes)}</td>
            </tr>
          ))}
          {totals.map(([name, value], at) => (
            <tr key={name} className={at === 0 ? styles.total : undefined}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p className="mt-1 muted tiny">
        Computed for {fit.group.tiles}{" "}
        {fit.group.frames > 1 ? "frames of a clip" : fit.group.tiles === 1 ? "tile" : "tiles"}, a prompt of{" "}
        {fit.group.promptTokens} tokens and {fit.group.groups} × {fit.group.rollouts} captions of up to{" "}
        {fit.group.newTokens}
      </p>
      <Reality fit={fit} />
    </section>
  );
}

/** The largest sizes that fit this GPU, for a real checkpoint, and the button that sets them. */
function Fitted({ fit: { fitted } }: { readonly fit: Fit }): ReactNode {
  const config = useSession((session) => session.config);
  if (fitted === null) return null;
  const { label, values, gigabytes, assumed } = fitted;
  const set = Object.entries(values).every(([key, value]) => config[key as keyof typeof config] === value);
  return (
    <p className="row wrap gap-2" data-testid="fitted">
      <span>
        {set ? "These are the largest sizes" : "The largest sizes"} for {gigabytes} GB{assumed && " (assumed)"}: {label}
      </span>
      {!set && <Button onClick={() => changeConfig(values)}>Set</Button>}
    </p>
  );
}

function FindMemory(): ReactNode {
  const busy = useDeviceBlocker();
  const software = useSession((session) => session.gpu?.software === true);
  const blocker = busy ?? (software ? "A software adapter uses the computer's memory" : null);
  return (
    <p>
      <Button data-testid="find-memory" blocker={blocker} onClick={() => report(findMemory())}>
        Measure memory
      </Button>{" "}
      Allocates up to {MOST_GIGABYTES} GB on the GPU for a short time
    </p>
  );
}

/** Changes of settings that make the run fit. */
export function Changes({ fit }: { readonly fit: Fit }): ReactNode {
  const folder = useSession((session) => session.modelFolder);
  if (fit.changes.length === 0) return null;
  return (
    <div className={styles.changes} data-testid="fit-changes">
      <h3>{fit.changes.length === 1 ? "This is enough" : "Each of these changes alone is enough"}</h3>
      <ul className="p-0 no-bullets">
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
  const busy = useRun((run) => actionBlocker("start", run.state));
  const missing = useBlocker(startBlocker);
  if (job?.state !== "running") {
    return (
      <p className="row wrap gap-2 muted small">
        <Button data-testid="dry-run" blocker={busy ?? missing} onClick={() => report(dryRun())}>
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

const compiling = (step?: MeasuredStep): string => (step === undefined || step.programs === 0 ? "" : ", compiling");

/** The forecast beside the measured values. */
function Reality({ fit }: { readonly fit: RunPlan["fit"] }): ReactNode {
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
