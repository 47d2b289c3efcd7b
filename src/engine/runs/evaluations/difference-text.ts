import type { Interval } from "./evaluations.ts";

/** Decimals of every difference and its interval. */
const DECIMALS = 3;
const rounded = (value: number): number => Number(value.toFixed(DECIMALS));

/** Decimals of a score beside its difference: one fewer, because the written scores do not give the difference exactly. */
export const SCORE_DECIMALS = 2;

/** Whether a difference is printed as 0. */
const isTie = (change: number): boolean => rounded(change) === 0;

/**
 * Whether one row became better or worse: where its score changed by at least the last decimal that is written of a score. A
 * fact about that row, so it needs no interval and no number of pictures.
 */
export function rowVerdict(change: number): "better" | "worse" | "open" {
  if (!(Math.abs(rounded(change)) >= 10 ** -SCORE_DECIMALS)) return "open";
  return change > 0 ? "better" : "worse";
}

/**
 * "better" or "worse" only if the 95 % interval, as it is printed, excludes 0, and the pictures are enough to trust it.
 * Without spread there is no interval.
 */
export function verdict(
  difference: Pick<Interval, "low" | "high"> | null,
  pictures: number,
): "better" | "worse" | "open" {
  if (difference === null || difference.low === difference.high || pictures < LEAST_PICTURES) return "open";
  if (rounded(difference.low) > 0) return "better";
  return rounded(difference.high) < 0 ? "worse" : "open";
}

/** The interval of a difference. Without spread there is none: over one picture, or where nothing changed in print. */
export function rangeText({ mean, low, high }: Interval): string {
  if ([mean, low, high].every(isTie)) return "no change";
  return low === high ? "no interval" : `${signed(low)} to ${signed(high)}`;
}

/** Minimum number of pictures for a reliable interval. */
const LEAST_PICTURES = 10;

/** The warning next to intervals over few pictures, else "" (docs/spec/evaluation.md#61-the-unit-is-the-picture). */
export function fewPicturesText(pictures: number): string {
  return pictures < LEAST_PICTURES ? `with fewer than ${LEAST_PICTURES} pictures no interval can be trusted` : "";
}

export function differenceText(difference: Interval): string {
  return `${signed(difference.mean)} (${rangeText(difference)})`;
}

/** Fixed decimals with a sign; "±0.000" for a value that rounds to 0. */
export function signed(value: number, decimals = DECIMALS): string {
  const digits = Math.abs(value).toFixed(decimals);
  return `${Number(digits) === 0 ? "±" : value > 0 ? "+" : "−"}${digits}`;
}
