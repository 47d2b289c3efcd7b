import { type ReactNode, useMemo } from "react";
import { lostBy } from "../../../engine/data/sample.ts";
import type { Advice } from "../../../engine/rl/run/start/blockers.ts";
import type { Plan as RunPlan } from "../../../engine/session/plan.ts";
import { report } from "../../clients/lab.ts";
import { openModel } from "../../clients/loading.ts";
import { act, useStartBlocker } from "../../clients/run/run-actions.ts";
import { hasPanels, PluginPanels } from "../../components/place/place.tsx";
import { Button } from "../../components/ui/button.tsx";
import { IconPlay } from "../../components/ui/icons.tsx";
import { pick } from "../../components/upload/pickers.tsx";
import { SELF_TEST, useJob } from "../../stores/jobs.ts";
import { useMeasured } from "../../stores/measured.ts";
import { linkTo } from "../../stores/route.ts";
import { roughly } from "../../stores/run/eta.ts";
import { changeConfig, useSession } from "../../stores/session.ts";
import { counted, formatBytes, formatCount, formatSeconds } from "../../styles/format.ts";
import styles from "./setup.module.css";

/** The start button with what keeps a run from starting or from learning, and its memory and time. */
export function Preflight(): ReactNode {
  const blocker = useStartBlocker();
  const plan = useSession((session) => session.plan);
  const warnings = useWarnings(plan);
  const problems = plan?.problems ?? [];
  const unfit = (plan?.rows.length ?? 0) > 0;
  return (
    <section className="grid gap-3 p-4 surface framed round-l" aria-label="Preflight" data-testid="preflight">
      <div className="row gap-3">
        <Button
          kind="primary"
          className={styles.start ?? ""}
          icon={<IconPlay />}
          blocker={blocker}
          data-testid="start"
          onClick={() => act("start")}
        >
          Start
        </Button>
        <p className={`min-0 ${blocker === null && unfit ? "warn" : "muted"}`} data-testid="start-reason">
          {blocker ?? (unfit ? "These rows do not fit the model or its settings" : "Ready to start")}
          <Help remedy={problems.find(({ sentence }) => sentence === blocker)?.remedy} />
        </p>
      </div>
      {plan !== null && <Forecast plan={plan} />}
      {problems
        .filter(({ sentence }) => sentence !== blocker)
        .map(({ sentence, remedy }) => (
          <p key={sentence} className="p-2-3 bad bad-soft round-m">
            {sentence}
            <Help remedy={remedy} />
          </p>
        ))}
      {plan !== null && <Changes fit={plan.fit} />}
      {warnings.length > 0 && <ul className="grid gap-2 m-0 p-0 no-bullets">{warnings}</ul>}
      {plan !== null && (
        <>
          <PluginPanels at="dry-run" given={{}} quiet />
          {hasPanels("fit") && (
            <details className="fold" data-testid="fit-details">
              <summary>Memory and time in detail</summary>
              <PluginPanels at="fit" given={{ plan }} />
            </details>
          )}
        </>
      )}
    </section>
  );
}

/** Memory and time in one line. */
function Forecast({ plan: { fit } }: { readonly plan: RunPlan }): ReactNode {
  const { steps, evalSteps } = useSession(({ config }) => config);
  const measured = useMeasured();
  const seconds = measured?.seconds ?? fit.stepSeconds;
  const over = fit.budget !== null && fit.peak > fit.budget;
  return (
    <p data-testid="forecast">
      <b className={over ? "bad" : ""}>{formatBytes(measured?.peak ?? fit.peak)}</b> of GPU memory
      {fit.budget !== null && ` of ${formatBytes(fit.budget)}`}
      {seconds !== null && (
        <>
          , <b>{formatSeconds(seconds)}</b> a step, <b>{roughly(seconds * steps)}</b> in all
          {evalSteps > 0 && " without evaluations"}
        </>
      )}
      <span className="muted">
        {" "}
        ({measured === null ? "forecast for these settings" : `measured in the ${measured.by}`})
      </span>
    </p>
  );
}

/** Warnings about the rows, the settings and the adapter, each with its remedy if there is one. */
function useWarnings(plan: RunPlan | null): readonly ReactNode[] {
  const failed = useJob(SELF_TEST)?.progress.failed ?? 0;
  const dataInfo = useSession((session) => session.dataInfo);
  const rows = useSession((session) => session.rows);
  const lost = useMemo(() => lostBy(dataInfo?.skipped ?? []), [dataInfo]);
  const doubts = dataInfo?.checks.filter(({ ok, blocks }) => !ok && !blocks) ?? [];
  const empty = useMemo(() => rows.filter(({ maskShare }) => maskShare === 0).length, [rows]);
  const list = [
    ...(plan?.rows ?? []).map(({ sentence, remedy }) => (
      <Warning key={sentence}>
        {sentence}
        <Help remedy={remedy} />
      </Warning>
    )),
    empty > 0 && (
      <Warning key="empty">
        {formatCount(empty)} of {counted(rows.length, "row")} {empty === 1 ? "has" : "have"} an empty mask: there is no
        region to describe{" "}
        <Button onClick={() => changeConfig({ rowFilter: "area:0.00001..1" })}>Leave them out</Button>
      </Warning>
    ),
    lost > 0 && (
      <Warning key="lost">
        {counted(lost, "row")} of the files cannot be used, for example without a mask or a caption.{" "}
        <a href={linkTo({ screen: "data" })}>Data lists the reasons</a>
      </Warning>
    ),
    ...doubts.map(({ name, detail }) => (
      <Warning key={name}>
        {detail}. <a href={linkTo({ screen: "data" })}>Open Data</a>
      </Warning>
    )),
    ...(plan?.warnings ?? []).map((sentence) => <Warning key={sentence}>{sentence}</Warning>),
    failed > 0 && (
      <Warning key="self-test">
        The <a href={linkTo({ screen: "setup", panel: "system" })}>self-test</a> of this graphics adapter failed in{" "}
        {counted(failed, "check")}; its results may be wrong
      </Warning>
    ),
  ];
  return list.filter((one) => one !== false);
}

/** What helps, after a sentence. */
function Help({ remedy }: { readonly remedy: Advice["remedy"] }): ReactNode {
  if (remedy === undefined) return null;
  return (
    <>
      {" "}
      {remedy === "rewards" ? (
        <a href={linkTo({ screen: "rewards" })}>Open Rewards</a>
      ) : (
        <Button data-testid="remedy" onClick={() => (remedy === "model" ? pick("model") : changeConfig(remedy.values))}>
          {remedy === "model" ? "Load a checkpoint…" : remedy.label}
        </Button>
      )}
    </>
  );
}

function Warning({ children }: { readonly children: ReactNode }): ReactNode {
  return <li className="p-2-3 warn warn-soft round-m">{children}</li>;
}

/** Changes of settings that make the run fit. */
function Changes({ fit }: { readonly fit: RunPlan["fit"] }): ReactNode {
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
