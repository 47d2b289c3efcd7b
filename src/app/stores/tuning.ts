/** The measured kernel forms, and the tuning in progress. */
import { create } from "zustand";
import type { TuningReport } from "../../protocol/trainer.ts";

export interface TuningState {
  /** "stopped": it ended before its last bucket. */
  readonly state: "never" | "running" | "done" | "stopped";
  /** Null until the trainer has sent it. */
  readonly report: TuningReport | null;
  readonly done: number;
  readonly total: number;
  /** The bucket that is being measured. */
  readonly bucket: string;
}

export const useTuning = create<TuningState>()(() => ({
  state: "never",
  report: null,
  done: 0,
  total: 0,
  bucket: "",
}));
