/** How a run gets on: what its steps, evaluations and checkpoints take, and from that the time that is left. */
import type { LabConfig } from "../../engine/config/table.ts";
import type { TrainerEvent } from "../../engine/rl/run/events.ts";
import type { StepCosts } from "../../engine/runs/phase-lines.ts";
import { median } from "../styles/median.ts";

/** Steps whose median is taken for those to come. */
const LAST_STEPS = 20;
/** With fewer there is nothing to go by: the first one compiles. */
const FEWEST_STEPS = 2;

type Work = "step" | "eval" | "checkpoint";

/** Milliseconds are since the epoch. */
export interface Eta {
  readonly doing: Work;
  /** When that began, moved on by pauses within it; milliseconds. */
  readonly since: number;
  /** Milliseconds; null while the run goes on. */
  readonly pausedAt: number | null;
  /** Seconds of the newest evaluation; null before one was timed. */
  readonly evalSeconds: number | null;
  /** Seconds of the newest checkpoint; null before one was timed. */
  readonly saveSeconds: number | null;
  /** No evaluation is due up to this step any more. */
  readonly evaluatedTo: number;
  /** No checkpoint is due up to this step any more. */
  readonly savedTo: number;
  /** Rows of the evaluation under way, and when the last of them were done in milliseconds; null before the first. */
  readonly rows: { readonly done: number; readonly total: number; readonly at: number } | null;
}

export const NO_PACE: Eta = {
  doing: "step",
  since: 0,
  pausedAt: null,
  evalSeconds: null,
  saveSeconds: null,
  evaluatedTo: 0,
  savedTo: 0,
  rows: null,
};

/** The pace after an event of the trainer. @param now milliseconds since the epoch */
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

/** What the time left is reckoned from. */
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
 * Seconds until the run has ended: the median of the last steps for every step to come, and what the last evaluation
 * and the last checkpoint took for each of those still due.
 * @param now milliseconds since the epoch
 * @returns null before two steps were timed
 */
export function runSeconds({ step, config, heldOutRows, costs, eta }: Progress, now: number): number | null {
  const last = costs.slice(-LAST_STEPS).map(({ phases }) => total(Object.values(phases).map(({ seconds }) => seconds)));
  const stepSeconds = last.length < FEWEST_STEPS ? null : median(last);
  if (stepSeconds === null) return null;
  const evaluates = config.evalSteps > 0 && Math.min(config.evalRows, heldOutRows) > 0;
  // One that is on is that of the present step.
  const evaluatedTo = eta.doing === "eval" ? step : eta.evaluatedTo;
  const evaluations = evaluates ? dueTimes(evaluatedTo, step, config.steps, config.evalSteps) : 0;
  // The last step is saved whatever the beat.
  const checkpoints = dueTimes(eta.savedTo, step, config.steps, config.saveSteps);
  const whole =
    (config.steps - step) * stepSeconds + evaluations * (eta.evalSeconds ?? 0) + checkpoints * (eta.saveSeconds ?? 0);
  const elapsed = Math.max(0, now - eta.since) / 1000;
  if (eta.doing === "eval") return whole + (evaluationSeconds(eta, now) ?? 0);
  const present = eta.doing === "step" ? stepSeconds : (eta.saveSeconds ?? 0);
  return Math.max(0, whole - Math.min(elapsed, present));
}

/**
 * Seconds until the evaluation under way has ended: by its rows, else by what the last one took.
 * @param now milliseconds since the epoch
 * @returns null when none is under way or there is nothing to go by
 */
export function evaluationSeconds({ doing, since, rows, evalSeconds }: Eta, now: number): number | null {
  if (doing !== "eval") return null;
  if (rows !== null && rows.done > 0) {
    const perRow = (rows.at - since) / 1000 / rows.done;
    return Math.max(0, (rows.total - rows.done) * perRow - (now - rows.at) / 1000);
  }
  return evalSeconds === null ? null : Math.max(0, evalSeconds - (now - since) / 1000);
}

/** Beats above `from`, the last step being one of them; a run that was set back repeats those after `step`. */
function dueTimes(from: number, step: number, steps: number, every: number): number {
  const after = Math.min(from, step);
  if (after >= steps) return 0;
  if (every === 0) return 1;
  return Math.floor(steps / every) - Math.floor(after / every) + (steps % every === 0 ? 0 : 1);
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** "about 12 min"; coarse, for it is an estimate. */
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
