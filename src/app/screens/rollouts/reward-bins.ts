import type { GroupRecord } from "../../../engine/runs/records.ts";

export interface RewardBin {
  /** Lower edge of the bin. */
  readonly from: number;
  readonly loop1: number;
  readonly loop2: number;
}

/** Rollouts per reward in `bins` equal stretches of 0..1; values outside count at the ends, missing ones not at all. */
export function rewardBins(groups: readonly GroupRecord[], bins: number): RewardBin[] {
  const counts = { 1: new Uint32Array(bins), 2: new Uint32Array(bins) };
  for (const group of groups) {
    for (const { reward } of group.rollouts) {
      if (reward === null || !Number.isFinite(reward)) continue;
      const at = Math.min(bins - 1, Math.max(0, Math.floor(reward * bins)));
      const count = counts[group.loop];
      count[at] = (count[at] ?? 0) + 1;
    }
  }
  return Array.from({ length: bins }, (_, at) => ({
    from: at / bins,
    loop1: counts[1][at] ?? 0,
    loop2: counts[2][at] ?? 0,
  }));
}
