/** Estimates the time left of a run from the durations of its steps, evaluations and checkpoints. */
import { median } from "../../../engine/bytes/collections.ts";
import type { LabConfig } from "../../../engine/config/table.ts";
import type { TrainerEvent } from "../../../engine/rl/run/events.ts";
import type { StepCosts } from "../../../engine/runs/phase-lines.ts";

/** Number of recent steps whose median predicts the next ones. */
const LAST_STEPS = 20;
/** Minimum timed steps for an estimate: the first step compiles. */
const FEWEST_STEPS = 2;

type Work = "step" | "eval" | "checkpoint";

/** Before anything was timed. Milliseconds are since the epoch. */
export const NO_PACE = {
  doing: "step" as Work,
  /** Start in milliseconds, shifted by pauses. */
  since: 0,
  /** Start of the pause in milliseconds; null while the run continues. */
  pausedAt: null as number | null,
  /** Seconds of the newest evaluation; null before one was timed. */
  evalSeconds: null as number | null,
  /** Seconds of the newest checkpoint; null before one was timed. */
  saveSeconds: null as number | null,
  /** Evaluations up to this step are done. */
  evaluatedTo: 0,
  /** Checkpoints up to this step are done. */
  savedTo: 0,
  /** Progress of the current evaluation in rows, and the time of the last progress in milliseconds; null before the first. */
  rows: null as { readonly done: number; readonly total: number; readonly at: number } | null,
};

export type Eta = Readonly<typeof NO_PACE>;

/** The timings after an event of the trainer. @param now milliseconds since the epoch */
export function etaAfter(eta: Eta, event: TrainerEvent, now: number): Eta {
  const begin = (doing: Work): Eta => ({ ...eta, doing, since: now, rows: null });
  const seconds = (now - eta.since) / 1000;
  switch (event.type) {
    case "phase":
      if (event.phase === "eval" || event.phase === "checkpoint") return begin(event.phase);
      return eta.doing === "step" ? eta : begin("step");
    case "step":
      return begin("step");
    case "eval-rows":
      return { ...eta, rows: { done: event.done, total: event.total, at: now } };
    case "eval":
      return {
        ...begin("step"),
        evalSeconds: eta.doing === "eval" ? seconds : eta.evalSeconds,
        evaluatedTo: event.report.step,
      };
    case "checkpoint":
      return {
        ...begin("step"),
        saveSeconds: eta.doing === "checkpoint" ? seconds : eta.saveSeconds,
        savedTo: event.step,
      };
    case "state":
      if (event.state === "paused") return { ...eta, pausedAt: now };
      if (event.state !== "running" || eta.pausedAt === null) return eta;
      return { ...eta, since: eta.since + now - eta.pausedAt, pausedAt: null };
    default:
      return eta;
  }
}

/** Input of the estimate. */
export interface Progress {
  /** Steps done. */
  readonly step: number;
  readonly config: Pick<LabConfig, "steps" | "evalSteps" | "evalRows" | "saveSteps">;
  readonly heldOutRows: number;
  /** Newest last. */
  readonly costs: readonly StepCosts[];
  readonly eta: Eta;
}

/**
 * Seconds until the run ends: the median of the last steps for each remaining step, plus the duration of the last
 * evaluation and checkpoint for each remaining one.
 * @param now milliseconds since the epoch
 * @returns null before two steps were timed
 */
export function runSeconds({ step, config, heldOutRows, costs, eta }: Progress, now: number): number | null {
  const last = costs.slice(-LAST_STEPS).map(({ phases }) => {
    return Object.values(phases).reduce((sum, { seconds }) => sum + seconds, 0);
  });
  if (last.length < FEWEST_STEPS) return null;
  const stepSeconds = median(last);
  const evaluates = config.evalSteps > 0 && Math.min(config.evalRows, heldOutRows) > 0;
  // A running evaluation belongs to the current step.
  const evaluatedTo = eta.doing === "eval" ? step : eta.evaluatedTo;
  const evaluations = evaluates ? dueTimes(evaluatedTo, step, config.steps, config.evalSteps) : 0;
  // The last step is always saved.
  const checkpoints = dueTimes(eta.savedTo, step, config.steps, config.saveSteps);
  const whole =
    (config.steps - step) * stepSeconds + evaluations * (eta.evalSeconds ?? 0) + checkpoints * (eta.saveSeconds ?? 0);
  const elapsed = Math.max(0, now - eta.since) / 1000;
  if (eta.doing === "eval") return whole + (evaluationSeconds(eta, now) ?? 0);
  const present = eta.doing === "step" ? stepSeconds : (eta.saveSeconds ?? 0);
  return Math.max(0, whole - Math.min(elapsed, present));
}

/**
 * Seconds until the current evaluation ends: from its rows, else from the duration of the last one.
 * @param now milliseconds since the epoch
 * @returns null if none is running or nothing was timed
 */
export function evaluationSeconds({ doing, since, rows, evalSeconds }: Eta, now: number): number | null {
  if (doing !== "eval") return null;
  if (rows !== null && rows.done > 0) {
    const perRow = (rows.at - since) / 1000 / rows.done;
    return Math.max(0, (rows.total - rows.done) * perRow - (now - rows.at) / 1000);
  }
  return evalSeconds === null ? null : Math.max(0, evalSeconds - (now - since) / 1000);
}

/** Events after `from` at an interval, the last step included; a run that was set back repeats those after `step`. */
function dueTimes(from: number, step: number, steps: number, every: number): number {
  const after = Math.min(from, step);
  if (after >= steps) return 0;
  if (every === 0) return 1;
  return Math.floor(steps / every) - Math.floor(after / every) + (steps % every === 0 ? 0 : 1);
}

/** "about 12 min"; rounded, because it is an estimate. */
export function roughly(seconds: number): string {
  if (seconds < 10) return "a few seconds";
  if (seconds < 95) return `about ${Math.round(seconds / 10) * 10} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `about ${minutes} min`;
  const tens = Math.round(minutes / 10) * 10;
  const [hours, rest] = [Math.floor(tens / 60), tens % 60];
  if (hours >= 48) return `about ${Math.round(minutes / 1440)} days`;
  return hours >= 10 || rest === 0 ? `about ${Math.round(minutes / 60)} h` : `about ${hours} h ${rest} min`;
}
