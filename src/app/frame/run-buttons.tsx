/** The buttons that control the run. */
import { type ReactNode, useEffect, useState } from "react";
import { startBlocker, useBlocker } from "../clients/run/blockers.ts";
import { stoppedRun } from "../clients/run/resume.ts";
import { act, actionBlocker } from "../clients/run/run-actions.ts";
import { Button } from "../components/ui/button.tsx";
import { IconCheck, IconPause, IconPhase, IconPlay, IconSave, IconStep, IconStop } from "../components/ui/icons.tsx";
import { Resume } from "../components/upload/pickers.tsx";
import { PHASE_NAMES, type RunStoreState, useRun } from "../stores/run/run.ts";
import styles from "./frame.module.css";

/** Milliseconds for which a requested checkpoint is shown as written. */
const SHOWN_MS = 6000;

/** Start, pause or continue; one step, one phase, save, stop. */
export function RunButtons(): ReactNode {
  const state = useRun((run) => run.state);
  const blocker = useBlocker(startBlocker);
  const active = actionBlocker("start", state) !== null;
  const running = state === "running";
  const stopped = useRun(stoppedRun);
  return (
    <>
      {stopped !== null && <Resume kind="primary" run={stopped} brief data-testid="strip-resume" />}
      {active ? (
        <Button
          kind={running ? "plain" : "primary"}
          icon={running ? <IconPause /> : <IconPlay />}
          blocker={actionBlocker(running ? "pause" : "play", state)}
          data-testid={running ? "pause" : "play"}
          title={running ? "Pause after this phase (P)" : "Continue (P)"}
          onClick={() => act(running ? "pause" : "play")}
        >
          {running ? "Pause" : "Continue"}
        </Button>
      ) : (
        <Button
          kind={stopped === null ? "primary" : "plain"}
          icon={<IconPlay />}
          blocker={blocker}
          data-testid="strip-start"
          {...(stopped === null ? {} : { title: "Start a new run" })}
          onClick={() => act("start")}
        >
          Start
        </Button>
      )}
      <Button
        className={styles.iconic ?? ""}
        icon={<IconStep />}
        blocker={active ? actionBlocker("step", state) : blocker}
        data-testid="single-step"
        title={active ? "Run one step, then pause (S)" : "Start a new run, and pause after one step (S)"}
        onClick={() => act("step")}
      >
        Step
      </Button>
      <PhaseButton blocker={active ? actionBlocker("phase", state) : blocker} starts={!active} />
      <SaveButton />
      {/* Stays without a run, so that no other button takes its place under the pointer. */}
      <Button
        className={styles.iconic ?? ""}
        icon={<IconStop />}
        blocker={actionBlocker("stop", state)}
        data-testid="stop"
        title="Save a checkpoint and end the run"
        onClick={() => act("stop")}
      >
        Stop
      </Button>
    </>
  );
}

/** Runs one phase of a step; the label names the next phase. */
function PhaseButton(props: { readonly blocker: string | null; readonly starts: boolean }): ReactNode {
  const { blocker, starts } = props;
  const next = useRun((run) => run.nextPhase);
  const loop = next === null || next.loop === null ? "" : `loop ${next.loop} ▸ `;
  const what = next === null ? "" : `: ${loop}${PHASE_NAMES[next.phase]}`;
  const label = starts ? "Start a new run, and pause in its first step" : `Run one phase${what}`;
  return (
    <Button
      className={styles.iconic ?? ""}
      icon={<IconPhase />}
      blocker={blocker}
      data-testid="single-phase"
      // Begins with what is written on the button.
      aria-label={`Phase: ${label}`}
      title={starts ? `${label} (F)` : `${label}, then pause (F)`}
      onClick={() => act("phase")}
    >
      Phase
    </Button>
  );
}

/** Saves a checkpoint: at once while paused with the weights of a whole step, else at the end of the current step. */
function SaveButton(): ReactNode {
  const run = useRun();
  const { state, saveAsked: asked, step } = run;
  const now = savesNow(run);
  const written = useWritten();
  const saving = now
    ? `The checkpoint of step ${step} is being saved`
    : `A checkpoint will be saved after step ${step + 1}`;
  const waits = asked ? saving : null;
  return (
    <Button
      icon={written === null ? <IconSave /> : <IconCheck />}
      className={written === null ? "" : (styles.written ?? "")}
      blocker={actionBlocker("checkpoint", state) ?? waits}
      aria-busy={asked}
      data-testid="save-now"
      aria-label="Save now"
      title={
        written === null
          ? `Save a checkpoint ${now ? "now" : "at the end of this step"} (C)`
          : `Checkpoint of step ${written} written`
      }
      onClick={() => act("checkpoint")}
    />
  );
}

/** Whether the weights are those of a finished step, so that a paused run saves them at once. */
export function savesNow({ state, step, nextPhase }: RunStoreState): boolean {
  return state === "paused" && step > 0 && nextPhase?.midUpdate === false;
}

/** Step of a requested checkpoint that has just been written. */
export function useWritten(): number | null {
  const last = useRun((run) => run.lastCheckpoint);
  const [over, setOver] = useState(last);
  useEffect(() => {
    if (last?.asked !== true) return;
    const timer = setTimeout(() => setOver(last), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [last]);
  return last?.asked === true && over !== last ? last.step : null;
}
