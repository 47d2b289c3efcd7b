/** Notices below the screen: each says what happened and offers what to do about it. */
import { type ReactNode, useEffect, useState } from "react";
import { type KeptFolder, keptFolders } from "../../engine/storage/kept-folders.ts";
import { report } from "../clients/lab.ts";
import { builtInRows, demoRows, openBuiltInRows, restartTrainer } from "../clients/loading.ts";
import { deleteRun, findInterrupted, forgetInterrupted, untilReleased } from "../clients/run/interrupted.ts";
import { unsaved } from "../clients/run/resume.ts";
import { useRowsOpen, useViewedRun } from "../components/rollout/use-viewed-run.ts";
import { Button } from "../components/ui/button.tsx";
import { IconClose, IconStop } from "../components/ui/icons.tsx";
import { openKept, openRowsOf, Resume, takeSettingsOf } from "../components/upload/pickers.tsx";
import { IMPORT } from "../components/upload/take-files.ts";
import { useAsync } from "../components/use-async.ts";
import { jobKind, startJob, useRunning } from "../stores/jobs.ts";
import { navigate, useRoute } from "../stores/route.ts";
import { useOtherTabs } from "../stores/run/other-tabs.ts";
import { isActive, useRun } from "../stores/run/run.ts";
import { differs, isUntouched, useSession } from "../stores/session.ts";
import { formatBytes } from "../styles/format.ts";
import styles from "./frame.module.css";

export function Notices(): ReactNode {
  return (
    <>
      <TrainerNotice />
      <div className={styles.offers}>
        <InterruptedBanner />
        <MissingData />
        <LastTime />
      </div>
      <ImportingNotice />
    </>
  );
}

function Notice(props: {
  readonly testId: string;
  readonly role?: "status" | "alert";
  readonly children: ReactNode;
  readonly onDismiss?: () => void;
}): ReactNode {
  const { testId, role = "status", children, onDismiss } = props;
  return (
    <div className={`row gap-2 ${styles.notice}`} role={role} data-testid={testId}>
      <div className="row wrap gap-2 grow min-0 anywhere">{children}</div>
      {onDismiss !== undefined && (
        <Button kind="quiet" icon={<IconClose />} aria-label="Dismiss" title="Dismiss" onClick={onDismiss} />
      )}
    </div>
  );
}

const RESTART = jobKind<true>("restart of the trainer");

/** Offers to end a trainer that no longer answers, and to restart one that failed. */
function TrainerNotice(): ReactNode {
  const silent = useSession((session) => session.trainerSilent);
  const ended = useSession((session) => session.trainerEnded);
  const training = useRun(({ state }) => isActive(state));
  const ending = useRunning(RESTART) !== null;
  if (silent === null && !ended) return null;
  const end = async (): Promise<void> => {
    const { runId } = useRun.getState();
    try {
      await startJob(RESTART, true, restartTrainer);
    } finally {
      if (runId !== null) await untilReleased(runId);
      await findInterrupted();
    }
  };
  const kept = training
    ? "The run is kept up to its last checkpoint and can be resumed from it"
    : "Stored runs are kept";
  return (
    <Notice role="alert" testId="trainer-notice">
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
    </Notice>
  );
}

/** Offers to resume the run that the last visit left unfinished. */
function InterruptedBanner(): ReactNode {
  const run = useSession(({ interrupted }) => interrupted);
  const busy = useRun(({ state }) => isActive(state));
  const held = useOtherTabs();
  const [sure, setSure] = useState(false);
  // Another tab has resumed it, or evaluates one of its checkpoints.
  if (run === null || busy || held.includes(run.manifest.id)) return null;
  const { manifest, steps, checkpoints, bytes } = run;
  const saved = checkpoints.at(-1);
  const look = (): void => {
    forgetInterrupted();
    navigate({ screen: "train", run: manifest.id, step: null, rollout: null });
  };
  return (
    <Notice testId="interrupted" onDismiss={forgetInterrupted}>
      <p>
        <b>{manifest.title}</b> stopped at step {steps} of {manifest.config.steps},{" "}
        {saved === undefined ? "without a checkpoint" : `checkpoint of step ${saved}`}
      </p>
      <Resume kind="primary" run={manifest} lack={unsaved(checkpoints)} />
      <Button onClick={look}>View</Button>
      <Button kind="danger" onClick={() => (sure ? report(deleteRun(manifest.id)) : setSure(true))}>
        {sure ? `Delete ${formatBytes(bytes)}` : "Delete…"}
      </Button>
    </Notice>
  );
}

/** Names the dropped files that are being read as a run. */
function ImportingNotice(): ReactNode {
  const name = useRunning(IMPORT);
  if (name === null) return null;
  return (
    <Notice testId="importing">
      <p className="anywhere">Reading {name} and checking its files…</p>
    </Notice>
  );
}

/**
 * Says once that the rows of the shown run are not open, with a button that opens them. Rows that come with the page open
 * by themselves, unless they would replace rows of the user or those of a run in progress.
 */
function MissingData(): ReactNode {
  const screen = useRoute((route) => route.screen);
  const asked = useRoute((route) => route.run);
  const run = useViewedRun();
  const busy = useRun(({ state }) => isActive(state));
  const recorded = useSession((session) => session.recordedRun);
  const opening = useSession((session) => session.opening !== null);
  // At the start nothing is open yet, and nothing is missing.
  const name = useSession(({ dataInfo }) => dataInfo?.name);
  const own = name !== undefined && builtInRows(name) === undefined;
  // On Home the offer of last time opens the rows of the newest run.
  const shown = screen === "train" || (screen === "home" && (asked !== null || run?.source !== "stored")) ? run : null;
  const { runId = null, manifest = null } = shown ?? {};
  const open = useRowsOpen(manifest);
  const [hidden, setHidden] = useState<string | null>(null);
  const missing = manifest !== null && open === false && !opening && name !== undefined ? manifest.data.name : null;
  const builtIn = missing === null ? undefined : runId === recorded ? demoRows("demo") : builtInRows(missing);
  const alone = builtIn !== undefined && asked !== null && !own && !busy;
  useEffect(() => {
    if (alone && builtIn !== undefined) report(openBuiltInRows(builtIn));
  }, [alone, builtIn]);
  if (missing === null || alone || hidden === runId) return null;
  return (
    <Notice testId="missing-data" onDismiss={() => setHidden(runId)}>
      <p>
        The rows of this run, <b>{missing}</b>, are not open: pictures are small or missing
      </p>
      <Button
        blocker={busy ? "A run is in progress with other rows" : null}
        onClick={() => report(builtIn === undefined ? openRowsOf(missing) : openBuiltInRows(builtIn))}
      >
        Open {missing}
      </Button>
    </Notice>
  );
}

/** Offers the data and the model that the user opened last; on Home and Setup, the settings of the newest run while none is changed. */
function LastTime(): ReactNode {
  const [hidden, setHidden] = useState("");
  const replaced = useSession((session) => session.replaced);
  const kept = useAsync("folders", keptFolders).value ?? [];
  const name = useSession(({ dataInfo }) => dataInfo?.name);
  const model = useSession((session) => session.model?.name);
  const waits = useSession(({ opening, modelProgress }) => opening !== null || modelProgress !== null);
  const busy = useRun(({ state }) => isActive(state));
  const newest = (kind: KeptFolder["kind"]): KeptFolder | undefined => kept.find((one) => one.kind === kind);
  const [data, weights] = [replaced ?? newest("data"), newest("model")];
  const offered = [data?.name === name ? undefined : data, weights?.name === model ? undefined : weights].flatMap(
    (one) => one ?? [],
  );
  // Rows of the user take the place of the offer.
  const own = name !== undefined && builtInRows(name) === undefined;
  const names = own ? "" : offered.map((one) => one.name).join(" and ");
  const starts = useRoute(({ screen }) => screen === "home" || screen === "setup");
  const run = useSession(({ newest, config, preset }) =>
    starts && newest != null && isUntouched(preset) && differs(newest.config, config) ? newest : null,
  );
  const shown = [names, run?.title].filter(Boolean).join(" and ");
  if (shown === hidden || busy || waits) return null;
  const open = async (): Promise<void> => {
    for (const one of offered) await ("open" in one ? one.open() : openKept(one));
  };
  return (
    <Notice testId="last-time" onDismiss={() => setHidden(shown)}>
      <p>
        Last time: <b>{shown}</b>
      </p>
      {names !== "" && <Button onClick={() => report(open())}>Open {names}</Button>}
      {run !== null && <Button onClick={() => report(takeSettingsOf(run))}>Use the settings of {run.title}</Button>}
    </Notice>
  );
}
