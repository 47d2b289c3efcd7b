/** Entropy coefficient that follows a target (Skywork-OR1, 2505.22312; reference: grpo.md §8). Part of a checkpoint. */

export interface EntropyControlSettings {
  /** Nats; near the entropy seen early in the run. */
  readonly target: number;
  /** Step of the coefficient. */
  readonly delta: number;
  readonly min: number;
  readonly max: number;
}

export interface EntropyControlState {
  readonly coefficient: number;
  /** Mean entropy of the step before; null before the first. */
  readonly lastEntropy: number | null;
}

/** Coefficient to use in the loss of this step: none while the last entropy was above the target, or unknown. */
export function appliedCoefficient(state: EntropyControlState, settings: EntropyControlSettings): number {
  return state.lastEntropy !== null && state.lastEntropy <= settings.target ? state.coefficient : 0;
}

/** State after a step whose mean entropy was `entropy`. A value that is not finite leaves the state as it was. */
export function nextEntropyState(
  state: EntropyControlState,
  entropy: number,
  settings: EntropyControlSettings,
): EntropyControlState {
  if (!Number.isFinite(entropy)) return state;
  const moved = state.coefficient + (entropy <= settings.target ? settings.delta : -settings.delta);
  return { coefficient: Math.min(settings.max, Math.max(settings.min, moved)), lastEntropy: entropy };
}
