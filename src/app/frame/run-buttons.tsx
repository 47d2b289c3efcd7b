/** The buttons that steer the run. */
import { type ReactNode, useEffect, useState } from "react";
import { startObstacle } from "../clients/obstacles.ts";
import { Button } from "../components/ui/button.tsx";
import { IconCheck, IconPause, IconPhase, IconPlay, IconSave, IconStep, IconStop } from "../components/ui/icons.tsx";
import { PHASE_WORDS } from "../stores/phase-words.ts";
import { useRun } from "../stores/run.ts";
import { useSession } from "../stores/session.ts";
import { act, actionObstacle } from "./run-actions.ts";
import styles from "./status-strip.module.css";

/** How long a checkpoint that was asked for is shown as written. */
const SHOWN_MS = 6000;

/** Start before a run; pause or play, one step, one phase, save and stop in one. */
export function RunButtons(): ReactNode {
  const state = useRun((run) => run.state);
  const obstacle = useSession(startObstacle);
  const active = actionObstacle("start", state) !== null;
  if (!active) {
    return (
      <>
        <Button
          kind="primary"
          icon={<IconPlay />}
          obstacle={obstacle}
          data-testid="strip-start"
          onClick={() => act("start")}
        >
          Start
        </Button>
        <SaveButton />
      </>
    );
  }
  const running = state === "running";
  return (
    <>
      <Button
        kind={running ? "plain" : "primary"}
        icon={running ? <IconPause /> : <IconPlay />}
        obstacle={actionObstacle(running ? "pause" : "play", state)}
        data-testid={running ? "pause" : "play"}
        title={running ? "Pause after this phase (P)" : "Continue (P)"}
        onClick={() => act(running ? "pause" : "play")}
      >
        {running ? "Pause" : "Play"}
      </Button>
      <Button
        icon={<IconStep />}
        obstacle={actionObstacle("step", state)}
        data-testid="single-step"
        title="One step, then pause (S)"
        onClick={() => act("step")}
      >
        Step
      </Button>
      <PhaseButton />
      <SaveButton />
      <Button
        icon={<IconStop />}
        obstacle={actionObstacle("stop", state)}
        data-testid="stop"
        title="Save and end the run"
        onClick={() => act("stop")}
      >
        Stop
      </Button>
    </>
  );
}

/** One phase of a step; it names the one that comes next. */
function PhaseButton(): ReactNode {
  const state = useRun((run) => run.state);
  const next = useRun((run) => run.nextPhase);
  const loop = next === null || next.loop === null ? "" : `loop ${next.loop} ▸ `;
  const what = next === null ? "" : `: ${loop}${PHASE_WORDS[next.phase]}`;
  return (
    <Button
      icon={<IconPhase />}
      obstacle={actionObstacle("phase", state)}
      data-testid="single-phase"
      aria-label={`One phase${what}`}
      title={`One phase${what}, then pause (F)`}
      onClick={() => act("phase")}
    />
  );
}

/** A checkpoint as soon as the present step is whole. */
function SaveButton(): ReactNode {
  const state = useRun((run) => run.state);
  const asked = useRun((run) => run.saveAsked);
  const step = useRun((run) => run.step);
  const written = useWritten();
  const waits = asked ? `Step ${step + 1} is saved when it ends` : null;
  return (
    <Button
      icon={written === null ? <IconSave /> : <IconCheck />}
      className={written === null ? "" : (styles.written ?? "")}
      obstacle={actionObstacle("checkpoint", state) ?? waits}
      aria-busy={asked}
      data-testid="save-now"
      aria-label="Save now"
      title={written === null ? "Save a checkpoint when this step ends (C)" : `Checkpoint of step ${written} written`}
      onClick={() => act("checkpoint")}
    />
  );
}

/** Step of a checkpoint that was asked for and has just been written. */
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
