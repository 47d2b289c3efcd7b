/** Exports of stored runs: those in progress, and the result of the last one. */
import { create } from "zustand";

/** An export that is being written. */
export interface Exporting {
  readonly runId: string;
  readonly title: string;
  /** Whether it is a merged checkpoint, which is counted in tensors; others are counted in bytes. */
  readonly merged: boolean;
  /** 0 before the first. */
  readonly done: number;
  /** 0 if not known. */
  readonly total: number;
  readonly stop: () => void;
}

interface ExportState {
  /** At most one per run. */
  readonly ongoing: readonly Exporting[];
  /** Name and state of the last saved file; null without one. */
  readonly saved: string | null;
}

export const useExports = create<ExportState>()(() => ({ ongoing: [], saved: null }));

interface CheckpointEvaluation {
  readonly runId: string;
  readonly title: string;
  readonly step: number;
  /** Rows done and in total, including those of the start if it was not evaluated; 0 of 0 before the first. */
  readonly done: number;
  readonly total: number;
  readonly stop: () => void;
}

export const checkpointEvaluationStore = create<{ readonly now: CheckpointEvaluation | null }>()(() => ({
  now: null,
}));

export function useCheckpointEvaluation(): CheckpointEvaluation | null {
  return checkpointEvaluationStore(({ now }) => now);
}
