/** The evaluation of a stored checkpoint that is in progress. */
import { create } from "zustand";

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
