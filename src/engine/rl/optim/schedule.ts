/**
 * Learning-rate schedules; step 0 is the first optimiser step
 * (docs/spec/grpo.md#17-optimiser-schedule-accumulation-clipping).
 */

import { updatesPerStep } from "../../config/derived.ts";
import type { LabConfig } from "../../config/table.ts";
import { LabError } from "../../errors.ts";

export type ScheduleSettings =
  | { readonly kind: "constant" }
  | {
      /** Hugging Face's rule: factor i / warmup, then half a cosine; with a warm-up the first step has rate 0. */
      readonly kind: "cosine";
      readonly warmupSteps: number;
      readonly totalSteps: number;
      /** Share of the base rate at which the cosine ends. */
      readonly floor: number;
      /** 0.5 is one descent. */
      readonly cycles: number;
    }
  | {
      /** torch's LinearLR from `startFactor`, then cosine annealing to `floor`. */
      readonly kind: "linear-then-cosine";
      readonly warmupSteps: number;
      readonly totalSteps: number;
      readonly startFactor: number;
      /** Share of the base rate at which the cosine ends. */
      readonly floor: number;
    };

/**
 * Rate of optimiser step `step` (from 0). Skipped steps do not count.
 * @throws LabError("bad-config") for a step that is not a whole number from 0
 */
export function learningRate(base: number, step: number, settings: ScheduleSettings): number {
  if (!Number.isInteger(step) || step < 0)
    throw new LabError("bad-config", `The schedule has no step ${step}; steps are whole numbers of at least 0`);
  return base * rateFactor(step, settings);
}

function rateFactor(step: number, settings: ScheduleSettings): number {
  if (settings.kind === "constant") return 1;
  const { warmupSteps, totalSteps } = settings;
  if (settings.kind === "linear-then-cosine") {
    if (step < warmupSteps) return settings.startFactor + (1 - settings.startFactor) * (step / warmupSteps);
    const span = Math.max(1, totalSteps - warmupSteps);
    return lifted(0.5 * (1 + Math.cos((Math.PI * (step - warmupSteps)) / span)), settings.floor);
  }
  if (step < warmupSteps) return step / Math.max(1, warmupSteps);
  const progress = (step - warmupSteps) / Math.max(1, totalSteps - warmupSteps);
  const cosine = 0.5 * (1 + Math.cos(Math.PI * settings.cycles * 2 * progress));
  return Math.max(0, lifted(cosine, settings.floor));
}

/** A factor of 0 … 1 in floor … 1. */
function lifted(factor: number, floor: number): number {
  return factor * (1 - floor) + floor;
}

/**
 * Schedule steps per step of the run; a supervised step has one update, whatever the number of passes over rollouts.
 */
function scheduleSteps(config: LabConfig): number {
  return config.mode !== "rl" ? 1 : updatesPerStep(config);
}

export function scheduleOf(config: LabConfig): ScheduleSettings {
  const { warmupSteps, minLrRate: floor } = config;
  const totalSteps = config.steps * scheduleSteps(config);
  if (config.lrSchedulerType === "constant") return { kind: "constant" };
  if (config.lrSchedulerType === "linear-then-cosine") {
    return { kind: "linear-then-cosine", warmupSteps, totalSteps, startFactor: 1 / Math.max(1, warmupSteps), floor };
  }
  return { kind: "cosine", warmupSteps, totalSteps, floor, cycles: 0.5 };
}
