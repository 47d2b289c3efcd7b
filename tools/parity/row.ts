/** One line of a parity report: the comparison of a golden case with the engine's result. */
export interface ParityRow {
  readonly case: string;
  /** What was compared, in words. */
  readonly what: string;
  readonly maxAbs: number;
  readonly maxRel: number;
  /** The tolerance that decided, in words ("exact", "1e-5 relative"). */
  readonly tolerance: string;
  readonly pass: boolean;
  readonly note?: string;
}

/** The tolerance of recorded values that are not compared; the note says why. */
export const NOT_COMPARED = "not compared";

/** A row for recorded values that are not compared, with the reason. */
export function leftOut(name: string, what: string, why: string): ParityRow {
  return { case: name, what, maxAbs: 0, maxRel: 0, tolerance: NOT_COMPARED, pass: true, note: why };
}
