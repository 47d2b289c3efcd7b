/** The reward bench: groups that were sampled or imported, and how far that is. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { LabConfig } from "../../engine/config/table.ts";
import type { BenchGroup } from "../../engine/rewards/bench/bench-group.ts";
import { couplesGroups } from "../../engine/rl/objective/group-advantages.ts";
import { withAdvantages } from "../../engine/session/bench-scores.ts";

export interface BenchState {
  /** "scoring": groups that are there are scored with other settings; "importing" and "judging" score as well. */
  readonly state: "idle" | "sampling" | "importing" | "judging" | "scoring";
  /** Where the groups came from: the model's name or a file's; null when there are none. */
  readonly source: string | null;
  readonly groups: readonly BenchGroup[];
  /** Settings that the groups are scored with, or were last tried with; null when there are none or it is not known. */
  readonly scored: LabConfig | null;
  /** Groups done and wanted of what is going on. */
  readonly done: number;
  readonly total: number;
  /** What ended the last sampling or scoring early; null when nothing did. */
  readonly problem: string | null;
}

export const benchStore = createStore<BenchState>()(() => ({
  state: "idle",
  source: null,
  groups: [],
  scored: null,
  done: 0,
  total: 0,
  problem: null,
}));

/** Reads a part of the bench and follows it. */
export function useBench<T>(select: (state: BenchState) => T): T {
  return useStore(benchStore, select);
}

/**
 * Whether the groups have rewards of other settings and can be scored anew now. A scoring under way gives way to newer
 * settings; sampling, a file and the judge are waited for.
 */
export function isOutdated(bench: BenchState, config: LabConfig): boolean {
  const free = bench.state === "idle" || bench.state === "scoring";
  return free && bench.groups.length > 0 && bench.scored !== config;
}

/** A group that the trainer has sampled; late ones of a bench that was left are dropped. */
export function addBenchGroup(group: BenchGroup): void {
  benchStore.setState((before) => {
    if (before.state !== "sampling") return before;
    const groups = [...before.groups, group];
    const { scored } = before;
    const coupled = scored !== null && couplesGroups(scored);
    return { groups: coupled ? withAdvantages(groups, scored) : groups, done: before.done + 1 };
  });
}
