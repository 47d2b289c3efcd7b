import type { ReactNode } from "react";
import { pluginCalls, report } from "../../app/clients/lab.ts";
import { useDeviceBlocker } from "../../app/clients/run/blockers.ts";
import type { Places } from "../../app/components/place/page-plugin.ts";
import { Button } from "../../app/components/ui/button.tsx";
import { FactList } from "../../app/components/ui/table.tsx";
import { useMeasured } from "../../app/stores/measured.ts";
import { changeConfig, useSession } from "../../app/stores/session.ts";
import { formatBytes, formatCount, formatSeconds, formatShare } from "../../app/styles/format.ts";
import { MOST_GIGABYTES } from "../../engine/plan/bytes-text.ts";
import type { MeasuredStep } from "../../engine/session/dry-run.ts";
import type { Plan as RunPlan } from "../../engine/session/plan.ts";
import type { DiagnosticsCalls } from "./diagnostics-calls.ts";
import styles from "./fit-table.module.css";

type Fit = RunPlan["fit"];

/** Forecast of GPU memory and step time in detail, the largest sizes that fit, and the measured values. */
export default function FitTable(props: Places["fit"]): ReactNode {
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
      <Trainable plan={props.plan} />
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

/** Sets “GPU memory” to the amount that the GPU can allocate. @throws LabError when the device is in use */
async function findMemory(): Promise<void> {
  changeConfig({ gpuMemory: await pluginCalls<DiagnosticsCalls>("trainer").probeMemory() });
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

/** Trained parameters by block. */
function Trainable(props: { readonly plan: RunPlan }): ReactNode {
  const { trainable, trainableParameters, frozenParameters } = props.plan;
  const all = trainableParameters + frozenParameters;
  return (
    <section className="mt-3" data-testid="trainable">
      <p>
        {formatCount(trainableParameters)} trainable parameters
        {all > 0 && ` · ${formatShare(trainableParameters / all)} of all`}
      </p>
      <FactList
        facts={[
          ...trainable.map(({ block, parameters }) => [block, formatCount(parameters)] as const),
          ["All other parameters, frozen", formatCount(frozenParameters)],
        ]}
      />
    </section>
  );
}
