/** The measured forms of kernels, and the tuning that is going on. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { TuningReport } from "../../protocol/trainer.ts";

export interface TuningState {
  /** "stopped": it ended before its last bucket. */
  readonly state: "never" | "running" | "done" | "stopped";
  /** Null until the trainer has told it. */
  readonly report: TuningReport | null;
  readonly done: number;
  readonly total: number;
  /** The bucket that is being measured. */
  readonly bucket: string;
}

export const tuningStore = createStore<TuningState>()(() => ({
  state: "never",
  report: null,
  done: 0,
  total: 0,
  bucket: "",
}));

/** Subscribes to a part of the tuning. */
export function useTuning<T>(select: (state: TuningState) => T): T {
  return useStore(tuningStore, select);
}
