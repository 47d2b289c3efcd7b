/** Exports of stored runs: those in progress, and the result of the last one. */
import { create } from "zustand";

/** A merged checkpoint that is being written. */
export interface Merging {
  readonly runId: string;
  readonly title: string;
  /** Tensors written and in total; 0 of 0 before the first. */
  readonly done: number;
  readonly total: number;
  readonly stop: () => void;
}

export interface ExportState {
  /** Ids of the runs that are being exported. */
  readonly busy: readonly string[];
  readonly merging: Merging | null;
  /** Name and state of the last saved file; null without one. */
  readonly saved: string | null;
}

export const exportStore = create<ExportState>()(() => ({ busy: [], merging: null, saved: null }));

/** Subscribes to a part of the exports. */
export const useExports = exportStore;
