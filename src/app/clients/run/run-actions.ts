/** What the run's buttons and keys do, and when they can. */
import type { RunState } from "../../../engine/rl/run/events.ts";
import { navigate, useRoute } from "../../stores/route.ts";
import { isActive, noteEvaluationAsked, noteSaveAsked, useRun } from "../../stores/run/run.ts";
import { about, lab, report } from "../lab.ts";
import { startBlocker, useBlocker } from "./blockers.ts";
import { resumeNeeds, stoppedRun } from "./resume.ts";
import { resumeRun, startRun } from "./start-run.ts";

export type RunAction = "start" | "pause" | "play" | "step" | "phase" | "checkpoint" | "evaluate" | "stop";

/** Actions that start a run if none is in progress; "step" pauses it after its first step, "phase" within it. */
const STARTS: readonly RunAction[] = ["start", "step", "phase"];

/** Why an action cannot be done in a state, or null; starting has further conditions (see startBlocker). */
export function actionBlocker(action: RunAction, state: RunState): string | null {
  if (action === "start") return isActive(state) ? "A run is in progress" : null;
  if (!isActive(state)) return STARTS.includes(action) ? null : "No run is in progress";
  if (state === "starting" || state === "stopping") return `The run is ${state}`;
  if (action === "stop" || action === "checkpoint") return null;
  if (action === "evaluate") return evaluationBlocker();
  if (action === "pause") return state === "running" ? null : `The run is ${state}`;
  // A pause that still waits for its phase to end can be cancelled.
  if (state === "paused" || (state === "pausing" && action === "play")) return null;
  return state === "pausing" ? "The run pauses after this phase" : "Pause the run first";
}

function evaluationBlocker(): string | null {
  const { heldOutRows, step, evaluationAsked } = useRun.getState();
  if (heldOutRows === 0) return "The run holds out no rows";
  if (step === 0) return "The first step is not finished";
  return evaluationAsked ? "Held-out rows are evaluated after this step" : null;
}

/** Does an action when the state allows it. @param stays whether a start leaves the screen as it is instead of showing Train */
export function act(action: RunAction, stays = false): void {
  const { state } = useRun.getState();
  if (actionBlocker(action, state) !== null) return;
  if (action === "start" || !isActive(state)) {
    // Phase by phase, the inspector explains each one.
    const shown = { run: null, step: null, rollout: null, explain: action === "phase" };
    // What keeps a run from starting is listed below the screen that is shown.
    if (startBlocker() === null) navigate(stays ? shown : { ...shown, screen: "train", tab: "curves" });
    const first = action === "step" || action === "phase" ? action : null;
    report(about("run", startRun).then(() => (first === null ? undefined : lab().trainer.control(first))));
    return;
  }
  if (action === "checkpoint") noteSaveAsked();
  if (action === "evaluate") noteEvaluationAsked();
  // Phase by phase, the inspector follows the step; what runs on would change under the reader's eyes.
  if (action === "phase") navigate({ explain: true, rollout: followedRollout() });
  if (action === "step" || action === "play") navigate({ explain: false });
  report(lab().trainer.control(action));
}

/** The rollout in the address if the next phase works on it, too. */
function followedRollout(): string | null {
  const { step, nextPhase } = useRun.getState();
  const { rollout } = useRoute.getState();
  const place = `${step + 1}-${nextPhase?.loop == null ? "" : `${nextPhase.loop}-`}`;
  return rollout?.startsWith(place) === true ? rollout : null;
}

/** Why no run can start now, as it changes; null when one can. */
export function useStartBlocker(): string | null {
  const busy = useRun(({ state }) => actionBlocker("start", state));
  const missing = useBlocker(startBlocker);
  return busy ?? missing;
}

/** Starts, resumes, pauses or continues, depending on the state. */
export function togglePlay(): void {
  const run = useRun.getState();
  const stopped = stoppedRun(run);
  if (run.state === "running") act("pause");
  else if (isActive(run.state)) act("play");
  else if (stopped !== null && resumeNeeds(stopped).label === "Resume") report(resumeRun(stopped));
  else act("start");
}
