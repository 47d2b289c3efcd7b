/** Values derived from several settings. */
import { aboutLoop, LOOP_IDS, type LoopId } from "../rl/loops/abouts.ts";
import type { LabConfig } from "./table.ts";

/** The loops that a run samples, in order; one of weight 0 does not train. */
export function activeLoops(config: Pick<LabConfig, "loops" | `loop${LoopId}Weight`>): readonly LoopId[] {
  const { loops } = config;
  if (loops !== "both") return LOOP_IDS.filter((id) => loops === String(id));
  return LOOP_IDS.filter((id) => aboutLoop(id).optional !== true || config[`loop${id}Weight`] > 0);
}

/** The loops whose gradient counts: those that train with a weight above 0. */
export function weightedLoops(config: Parameters<typeof activeLoops>[0]): readonly LoopId[] {
  return activeLoops(config).filter((id) => config[`loop${id}Weight`] > 0);
}

/** The loops shown for a run: all but optional loops that do not train. */
export function shownLoops(config: Parameters<typeof activeLoops>[0]): readonly LoopId[] {
  const training = activeLoops(config);
  return LOOP_IDS.filter((id) => aboutLoop(id).optional !== true || training.includes(id));
}

/** Whether any training loop samples texts, or masks. */
export function samples(config: Parameters<typeof activeLoops>[0], what: "text" | "mask"): boolean {
  return activeLoops(config).some((id) => aboutLoop(id).samples === what);
}

/** Whether a reference pass is needed: KL has a weight, or the ratio is relative to the reference. */
export function needsReference({ beta, objective }: Pick<LabConfig, "beta" | "objective">): boolean {
  return beta > 0 || objective === "notes";
}

type Batch = Pick<LabConfig, "accumulation" | "stepsPerGeneration">;

/** Number of accumulation windows per set of rollouts; each has one update. */
export function windowsPerStep({ accumulation, stepsPerGeneration }: Batch): number {
  return Math.max(1, Math.floor(stepsPerGeneration / accumulation));
}

/** Groups of rollouts that each loop samples in a step. */
export function groupsPerStep(config: Batch & Pick<LabConfig, "promptsPerStep">): number {
  return windowsPerStep(config) * config.accumulation * config.promptsPerStep;
}

/** Rows that a loop draws in a step, also in a mode without rollouts. */
export function rowsPerStep(config: Batch & Pick<LabConfig, "promptsPerStep" | "mode">): number {
  return config.mode === "rl" ? groupsPerStep(config) : config.accumulation * config.promptsPerStep;
}

/** Optimiser updates of a step. */
export function updatesPerStep(config: Batch & Pick<LabConfig, "numIterations">): number {
  return windowsPerStep(config) * config.numIterations;
}

/** Why the micro-steps of a set of rollouts do not divide into windows; null if they do. */
export function generationBlocker({ accumulation, stepsPerGeneration }: Batch): string | null {
  const fits = stepsPerGeneration % accumulation === 0 || accumulation % stepsPerGeneration === 0;
  if (stepsPerGeneration === 0 || fits) return null;
  return `stepsPerGeneration ${stepsPerGeneration} is neither a multiple nor a divisor of accumulation ${accumulation}; change one of them`;
}

/**
 * The next settings change for a running run that saves memory and leaves every result equal up to rounding; null if
 * none is left.
 */
export function smallerSetting(config: LabConfig): Partial<LabConfig> | null {
  const reinforced = config.mode === "rl";
  if (reinforced && config.groupsAtOnce !== 1 && groupsPerStep(config) > 1) return { groupsAtOnce: 1 };
  if (!config.gradientCheckpointing) return { gradientCheckpointing: true };
  return reinforced && config.microRollouts !== 1 ? { microRollouts: 1 } : null;
}
