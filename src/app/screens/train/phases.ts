import type { Phase, PhaseTimes } from "../../../engine/rl/run/events.ts";
import { PHASE_NAMES } from "../../stores/run/phase-names.ts";

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
