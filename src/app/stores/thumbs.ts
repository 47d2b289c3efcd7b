/** The user's thumbs on rollouts of the viewed run; stored in the run folder. */
import { useEffect } from "react";
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { Thumbs } from "../../engine/runs/rollouts/thumbs.ts";

interface ThumbState {
  readonly runId: string | null;
  readonly thumbs: Thumbs;
}

export const thumbStore = createStore<ThumbState>()(() => ({ runId: null, thumbs: {} }));

const NONE: Thumbs = {};

/** Thumbs of a run. @param read reads them the first time */
export function useThumbs(runId: string | null, read: (runId: string) => void): Thumbs {
  const known = useStore(thumbStore, (state) => (state.runId === runId ? state.thumbs : null));
  const missing = known === null;
  useEffect(() => {
    if (runId !== null && missing) read(runId);
  }, [runId, missing, read]);
  return known ?? NONE;
}
