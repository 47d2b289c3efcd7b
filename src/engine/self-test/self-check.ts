/** One check of the self-test, apart from the code that computes it: the page reads results and holds no engine. */
export interface SelfCheck {
  readonly name: string;
  /** Largest difference to the host's answer, relative to its largest number; NaN where a result is no number. */
  readonly error: number;
  readonly allowed: number;
  /** The second answer has the same bits. */
  readonly repeats: boolean;
  /** Why there is no answer, or null. */
  readonly problem: string | null;
  /** Seconds, compiling included. */
  readonly seconds: number;
}

/** Whether a check found nothing wrong. */
export function passed({ error, allowed, repeats, problem }: SelfCheck): boolean {
  // A comparison with NaN is false, which is the point of writing it this way round.
  return problem === null && repeats && error <= allowed;
}
