/** Chooses the form of a bucket: the fastest correct one, unless the reference is as fast within noise. */

import { median } from "../../engine/bytes/collections.ts";

/** Measurements of one form. */
export interface Measured {
  readonly form: string;
  /** Whether its result equals the reference's result within rounding. */
  readonly right: boolean;
  /** Seconds per call, one entry per round; a form that was left out of later rounds has fewer. */
  readonly seconds: readonly number[];
}

export interface Choice {
  readonly form: string;
  /** Median seconds per call. */
  readonly seconds: number;
  /** Median over rounds of the chosen form's time as a share of the reference's. */
  readonly ratio: number;
}

/**
 * A form replaces the reference only if it saves more than this share of the time, because it is one more program to
 * compile.
 */
const LEAST_GAIN = 0.05;
/** Maximum number of rounds in which a chosen form may be slower than the reference. */
const MOST_LOST = 1;
/** A form that takes more than this many times the best of the first round is not measured further. */
const HOPELESS = 1.6;

/** Median of the ratios of each round, whose two times were taken under the same load. */
export function ratioOf(seconds: readonly number[], reference: readonly number[]): number {
  return median(seconds.map((value, round) => value / (reference[round] ?? Number.NaN)).filter(Number.isFinite));
}

/** Forms worth measuring after the first round, always including the reference. */
export function worthMeasuring(measured: readonly Measured[], reference: string): readonly string[] {
  const right = measured.filter((one) => one.right);
  const best = Math.min(...right.map(({ seconds }) => seconds[0] ?? Number.POSITIVE_INFINITY));
  return right
    .filter(({ form, seconds }) => form === reference || (seconds[0] as number) <= HOPELESS * best)
    .map(({ form }) => form);
}

/**
 * The chosen form. A wrong form is never chosen; of equally fast forms, the first is.
 * @param reference name of the form that runs without a measurement, one of `measured`
 */
export function choose(measured: readonly Measured[], reference: string): Choice {
  const own = measured.find(({ form }) => form === reference) as Measured;
  let best: Choice = { form: reference, seconds: median(own.seconds), ratio: 1 };
  for (const { form, right, seconds } of measured) {
    // Forms that were left out of later rounds cannot be chosen.
    if (!right || form === reference || seconds.length < own.seconds.length) continue;
    const ratio = ratioOf(seconds, own.seconds);
    const lost = seconds.filter((value, round) => value >= (own.seconds[round] as number)).length;
    if (lost <= MOST_LOST && ratio < Math.min(best.ratio, 1 - LEAST_GAIN))
      best = { form, seconds: median(seconds), ratio };
  }
  return best;
}
