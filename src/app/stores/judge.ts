/** Whether the judge has a key. The key itself is not stored here. */
import { create } from "zustand";

interface JudgeState {
  /** Origin that the key belongs to; null without a key. */
  readonly keyOrigin: string | null;
}

export const useJudge = create<JudgeState>()(() => ({ keyOrigin: null }));
