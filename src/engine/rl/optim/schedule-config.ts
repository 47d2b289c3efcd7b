/** Converts the optimiser settings to a learning-rate schedule, for training and for the page's plot. */
import { updatesPerStep } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import type { ScheduleSettings } from "./schedule.ts";

/**
 * Schedule steps per step of the run; a supervised step has one update, whatever the number of passes over rollouts.
 */
export function scheduleSteps(config: LabConfig): number {
  return config.mode === "sft" ? 1 : updatesPerStep(config);
}

export function scheduleOf(config: LabConfig): ScheduleSettings {
  const { warmupSteps } = config;
  const totalSteps = config.steps * scheduleSteps(config);
  if (config.schedule === "constant") return { kind: "constant" };
  if (config.schedule === "linear-then-cosine") {
    return { kind: "linear-then-cosine", warmupSteps, totalSteps, startFactor: 1 / Math.max(1, warmupSteps) };
  }
  return { kind: "cosine", warmupSteps, totalSteps, floor: 0, cycles: 0.5 };
}
