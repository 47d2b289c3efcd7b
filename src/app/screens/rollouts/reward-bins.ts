import { type LoopId, perLoop } from "../../../engine/rl/loops/abouts.ts";
import type { GroupRecord } from "../../../engine/runs/rollouts/records.ts";

export interface RewardBin {
  readonly from: number;
  /** Upper edge, exclusive except in the last bin. */
  readonly to: number;
  /** Rewards of each loop. */
  readonly counts: Readonly<Record<LoopId, number>>;
  /** Lowest and highest reward in it, so that a filter finds exactly these; null for an empty bin. */
  readonly within: readonly [number, number] | null;
}

/**
 * Histogram of rewards with `bins` equal bins: over 0..1 if all rewards lie there, so that steps are comparable, else
 * over their range. Missing and non-finite rewards are not counted.
 */
export function rewardBins(groups: readonly GroupRecord[], bins: number): RewardBin[] {
  const rewards = groups.flatMap(({ loop, rollouts }) =>
    rollouts.flatMap(({ reward }) => (reward !== null && Number.isFinite(reward) ? [{ loop, reward }] : [])),
  );
  const { low, high } = rangeOf(rewards.map(({ reward }) => reward));
  const width = (high - low) / bins;
  const counts = perLoop(() => new Uint32Array(bins));
  const within: ([number, number] | null)[] = Array.from({ length: bins }, () => null);
  for (const { loop, reward } of rewards) {
    const at = Math.min(bins - 1, Math.max(0, Math.floor(((reward - low) / (high - low)) * bins)));
    const count = counts[loop];
    count[at] = (count[at] ?? 0) + 1;
    const [least, most] = within[at] ?? [reward, reward];
    within[at] = [Math.min(least, reward), Math.max(most, reward)];
  }
  return Array.from({ length: bins }, (_, at) => ({
    from: low + at * width,
    to: at === bins - 1 ? high : low + (at + 1) * width,
    counts: perLoop((loop) => counts[loop][at] ?? 0),
    within: within[at] ?? null,
  }));
}

function rangeOf(rewards: readonly number[]): { readonly low: number; readonly high: number } {
  const low = rewards.reduce((least, reward) => Math.min(least, reward), Infinity);
  const high = rewards.reduce((most, reward) => Math.max(most, reward), -Infinity);
  if (rewards.length === 0 || (low >= 0 && high <= 1)) return { low: 0, high: 1 };
  // Equal rewards still need bins of non-zero width.
  const least = Math.max(Math.abs(low), Math.abs(high)) * 1e-6;
  return high - low > least ? { low, high } : { low: low - 0.5, high: high + 0.5 };
}

/** Decimals that distinguish the edges of these bins, at least two unless the bins are wide. */
export function edgeDecimals(bins: readonly RewardBin[]): number {
  const width = (bins[0]?.to ?? 1) - (bins[0]?.from ?? 0);
  return Math.min(6, Math.max(width < 10 ? 2 : 0, Math.ceil(-Math.log10(width))));
}
