/** One line of a parity report: a case of a golden set against what the engine makes of it. */
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
