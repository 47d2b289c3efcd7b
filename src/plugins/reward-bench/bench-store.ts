/** The reward bench: sampled or imported groups, and the progress. */
import { create } from "zustand";
import type { LabConfig } from "../../engine/config/table.ts";
import { couplesGroups } from "../../engine/rl/objective/group-advantages.ts";
import type { BenchGroup } from "./bench-group.ts";
import { withAdvantages } from "./bench-scores.ts";

export interface BenchState {
  /** "scoring": the groups are scored with other settings; "importing" and "judging" score as well. */
  readonly state: "idle" | "sampling" | "importing" | "judging" | "scoring";
  /** Source of the groups: name of the model or file; null without groups. */
  readonly source: string | null;
  readonly groups: readonly BenchGroup[];
  /** Number of files opened so far: a selection belongs to the groups of one of them. */
  readonly opened: number;
  /** Settings of the last scoring, or of the last attempt; null if there was none. */
  readonly scored: LabConfig | null;
  /** Groups done and in total. */
  readonly done: number;
  readonly total: number;
  /** Why the last sampling or scoring ended early; null if it did not. */
  readonly problem: string | null;
}

export const useBench = create<BenchState>()(() => ({
  state: "idle",
  source: null,
  groups: [],
  opened: 0,
  scored: null,
  done: 0,
  total: 0,
  problem: null,
}));

/**
 * Whether the rewards of the groups are outdated and can be computed now. Newer settings interrupt a scoring; sampling,
 * importing and judging finish first.
 */
export function isOutdated(bench: BenchState, config: LabConfig): boolean {
  const free = bench.state === "idle" || bench.state === "scoring";
  return free && bench.groups.length > 0 && bench.scored !== config;
}

/** A group that the trainer has sampled; late groups of a cancelled bench are dropped. */
export function addBenchGroup(group: BenchGroup): void {
  useBench.setState((before) => {
    if (before.state !== "sampling") return before;
    const groups = [...before.groups, group];
    const { scored } = before;
    const coupled = scored !== null && couplesGroups(scored);
    return { groups: coupled ? withAdvantages(groups, scored) : groups, done: before.done + 1 };
  });
}
