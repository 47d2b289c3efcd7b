/** The reward bench: groups that were sampled or imported, and how far that is. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { BenchGroup } from "../../engine/rewards/bench/bench-group.ts";

export interface BenchState {
  readonly state: "idle" | "sampling" | "scoring";
  /** Where the groups came from: the model's name or a file's; null when there are none. */
  readonly source: string | null;
  readonly groups: readonly BenchGroup[];
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
  done: 0,
  total: 0,
  problem: null,
}));

/** Reads a part of the bench and follows it. */
export function useBench<T>(select: (state: BenchState) => T): T {
  return useStore(benchStore, select);
}

/** A group that the trainer has sampled; late ones of a bench that was left are dropped. */
export function addBenchGroup(group: BenchGroup): void {
  benchStore.setState((before) =>
    before.state === "sampling" ? { groups: [...before.groups, group], done: before.done + 1 } : before,
  );
}
