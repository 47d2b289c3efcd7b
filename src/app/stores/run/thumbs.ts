/** The user's thumbs on rollouts of the viewed run; stored in the run folder. */
import { useEffect } from "react";
import { create } from "zustand";
import type { Thumbs } from "../../../engine/runs/rollouts/thumbs.ts";

interface ThumbState {
  readonly runId: string | null;
  readonly thumbs: Thumbs;
}

export const thumbStore = create<ThumbState>()(() => ({ runId: null, thumbs: {} }));

/** Has thumbs read again: some were dropped with their steps. */
export function forgetThumbs(): void {
  thumbStore.setState({ runId: null, thumbs: {} });
}

const NONE: Thumbs = {};

/** Thumbs of a run. @param read reads them the first time */
export function useThumbs(runId: string | null, read: (runId: string) => void): Thumbs {
  const known = thumbStore((state) => (state.runId === runId ? state.thumbs : null));
  const missing = known === null;
  useEffect(() => {
    if (runId !== null && missing) read(runId);
  }, [runId, missing, read]);
  return known ?? NONE;
}
