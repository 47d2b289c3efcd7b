/**
 * Weight of the entropy bonus: constant, or following a target (Skywork-OR1, 2505.22312) as in TRL. Each loop has its own
 * controller, because captions and masks differ in entropy. Part of a checkpoint.
 */
import type { LabConfig } from "../../config/table.ts";

interface EntropyControlSettings {
  /** Nats; near the entropy seen early in the run. */
  readonly target: number;
  /** Step of the coefficient. */
  readonly delta: number;
  readonly min: number;
  readonly max: number;
}

export interface EntropyControlState {
  readonly coefficient: number;
  /** Mean entropy of the previous update; null before the first. */
  readonly lastEntropy: number | null;
}

export function entropyControl(config: LabConfig): EntropyControlSettings {
  return {
    target: config.entropyTarget,
    delta: config.entropyCoefDelta,
    min: config.entropyCoefMin,
    max: config.entropyCoefMax,
  };
}

/** Coefficient for the loss of this update: 0 if the previous entropy was above the target or is unknown. */
export function appliedCoefficient(state: EntropyControlState, settings: EntropyControlSettings): number {
  return state.lastEntropy !== null && state.lastEntropy <= settings.target ? state.coefficient : 0;
}

/** State after an update with mean entropy `entropy`. A non-finite value leaves the state unchanged. */
export function nextEntropyState(
  state: EntropyControlState,
  entropy: number,
  settings: EntropyControlSettings,
): EntropyControlState {
  if (!Number.isFinite(entropy)) return state;
  const moved =
    entropy <= settings.target
      ? Math.min(settings.max, state.coefficient + settings.delta)
      : Math.max(settings.min, state.coefficient - settings.delta);
  return { coefficient: moved, lastEntropy: entropy };
}

/** Entropies of one group, and the mask of its counted actions; row-major. */
interface GroupEntropies {
  readonly entropies: ArrayLike<number>;
  readonly mask: ArrayLike<number>;
}

/**
 * Mean entropy over the actions that keep their policy term, of all groups of an update; NaN without one.
 * @param share top-entropy share: only the most uncertain actions of each group count
 */
export function meanEntropy(groups: readonly GroupEntropies[], share: number): number {
  const counted = groups.flatMap(({ entropies, mask }) => {
    const active = Array.from(entropies).filter((_, at) => (mask[at] as number) > 0.5);
    if (share >= 1 || active.length === 0) return active;
    const threshold = quantile(active, 1 - share);
    return active.filter((entropy) => entropy >= threshold - 1e-6 * Math.abs(threshold));
  });
  return counted.reduce((sum, entropy) => sum + entropy, 0) / counted.length;
}

/** Linear interpolation between order statistics. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  const [below, above] = [sorted[low] as number, sorted[Math.min(low + 1, sorted.length - 1)] as number];
  return below + (place - low) * (above - below);
}
