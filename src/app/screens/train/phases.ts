import type { Phase, PhaseTimes } from "../../../engine/rl/run/events.ts";

/** Short names of the phases. */
export const PHASE_NAMES: Readonly<Record<Phase, string>> = {
  sample: "rows",
  features: "frozen towers",
  generate: "generate",
  partner: "EMA partner",
  reward: "reward",
  advantage: "advantage",
  loss: "loss and backward",
  update: "update",
  ema: "EMA",
  log: "log",
  eval: "evaluation",
  checkpoint: "checkpoint",
};

export interface PhaseShare {
  readonly phase: Phase;
  readonly seconds: number;
  /** Share of the whole step, 0..1. */
  readonly share: number;
}

/** Shares of a step's time in the order of the phases; phases that took no time are left out. */
export function phaseShares(times: PhaseTimes): PhaseShare[] {
  const phases = (Object.keys(PHASE_NAMES) as Phase[]).filter((phase) => (times[phase] ?? 0) > 0);
  const total = phases.reduce((sum, phase) => sum + (times[phase] ?? 0), 0);
  return phases.map((phase) => ({ phase, seconds: times[phase] ?? 0, share: (times[phase] ?? 0) / total }));
}
