/** Compares arrays for a parity report. */
import type { ParityRow } from "./row.ts";

export interface Tolerance {
  /** Allowed error in units of the largest absolute element of the expected array. */
  readonly relative?: number;
  /** Allowed error in the array's own units, added to the relative part. */
  readonly absolute?: number;
}

export const EXACT: Tolerance = {};

/** The tolerance in words. */
export function toleranceText({ relative, absolute }: Tolerance): string {
  const parts: string[] = [];
  if (relative !== undefined) parts.push(`${relative} of the largest`);
  if (absolute !== undefined) parts.push(`${absolute} absolute`);
  return parts.length === 0 ? "exact" : parts.join(" plus ");
}

/**
 * Largest errors of an array. `maxRel` is the largest absolute error over the largest absolute expected element; a
 * length that differs or a number that is not finite is a miss.
 */
export function compareArrays(
  name: string,
  what: string,
  expected: ArrayLike<number>,
  got: ArrayLike<number>,
  tolerance: Tolerance,
): ParityRow {
  const words = toleranceText(tolerance);
  if (expected.length !== got.length)
    return missed(name, what, `${got.length} values instead of ${expected.length}`, words);
  let maxAbs = 0;
  let largest = 0;
  let worst = -1;
  for (let at = 0; at < expected.length; at++) {
    const error = Math.abs((got[at] as number) - (expected[at] as number));
    // A NaN must not pass a comparison that is false.
    if (!(error <= maxAbs)) {
      maxAbs = Number.isNaN(error) ? Number.POSITIVE_INFINITY : error;
      worst = at;
    }
    largest = Math.max(largest, Math.abs(expected[at] as number));
  }
  const allowed = (tolerance.relative ?? 0) * largest + (tolerance.absolute ?? 0);
  const pass = maxAbs <= allowed;
  const maxRel = maxAbs === 0 ? 0 : largest === 0 ? Number.POSITIVE_INFINITY : maxAbs / largest;
  const note = `element ${worst}: ${got[worst]} instead of ${expected[worst]}`;
  return { case: name, what, maxAbs, maxRel, tolerance: words, pass, ...(pass ? {} : { note }) };
}

/** A row for something that could not be compared at all. */
export function missed(name: string, what: string, note: string, tolerance = "exact"): ParityRow {
  const worst = Number.POSITIVE_INFINITY;
  return { case: name, what, maxAbs: worst, maxRel: worst, tolerance, pass: false, note };
}

/**
 * Compares the result of `compute()`; an error becomes a missed row, so that one broken array does not hide the others.
 */
export async function checked(
  name: string,
  what: string,
  expected: ArrayLike<number>,
  tolerance: Tolerance,
  compute: () => ArrayLike<number> | Promise<ArrayLike<number>>,
): Promise<ParityRow> {
  try {
    return compareArrays(name, what, expected, await compute(), tolerance);
  } catch (thrown) {
    const note = thrown instanceof Error ? thrown.message : String(thrown);
    return missed(name, what, note, toleranceText(tolerance));
  }
}
