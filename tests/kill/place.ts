/** Where runs are killed: under Node, or in a browser. Both give the same kinds of answer. */
import type { RunFiles } from "./same-run.ts";

/** Settings of the run: the cheapest that samples both loops, with a checkpoint at every step. */
export const SETTINGS = { saveSteps: 1, steps: 2 } as const;

/** One life of a process: it ended by itself, or was killed at a moment. */
export interface Life {
  /** What the moment was, for people; null when the process reached its end. */
  readonly killed: string | null;
}

/** A run under way in a place of its own. */
export interface Run {
  /** Begins, or goes on; is killed at `moment`, a share of the undisturbed run's moments, or never. */
  live(moment: number | null, share: number): Promise<Life>;
  files(): Promise<RunFiles>;
  close(): Promise<void>;
}

export interface Place {
  /** A run that has not begun. */
  open(): Promise<Run>;
  close(): Promise<void>;
}
