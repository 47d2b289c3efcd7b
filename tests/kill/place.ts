/** Places where runs are killed: Node or a browser. Both answer in the same way. */
import type { RunFiles } from "./same-run.ts";

/** Settings of the run: the cheapest that samples both loops, with a checkpoint at every step. */
export const SETTINGS = { saveSteps: 1, steps: 2 } as const;

/** One process of a run: it ended by itself, or was killed at a moment. */
export interface Life {
  /** The moment as text; null when the process reached its end. */
  readonly killed: string | null;
}

/** A run in progress in a place of its own. */
export interface Run {
  /** Starts or resumes the run; it is killed at `moment`, a share of the undisturbed run's moments, or never. */
  live(moment: number | null, share: number): Promise<Life>;
  files(): Promise<RunFiles>;
  close(): Promise<void>;
}

export interface Place {
  /** A run that has not started. */
  open(): Promise<Run>;
  close(): Promise<void>;
}
