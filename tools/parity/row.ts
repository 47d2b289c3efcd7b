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
