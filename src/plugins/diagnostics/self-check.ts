/**
 * The result of one check, kept separate from the code that computes it, because the page reads results without the
 * engine.
 */
export interface SelfCheck {
  readonly name: string;
  /** Largest difference from the host's answer, relative to its largest number; NaN where a result is NaN. */
  readonly error: number;
  readonly allowed: number;
  /** Whether a second run gives the same bits. */
  readonly repeats: boolean;
  /** Why there is no answer, or null. */
  readonly problem: string | null;
  /** Seconds, compiling included. */
  readonly seconds: number;
}

/** Whether a check found nothing wrong. */
export function passed({ error, allowed, repeats, problem }: SelfCheck): boolean {
  // A comparison with NaN is false, so NaN does not pass.
  return problem === null && repeats && error <= allowed;
}
