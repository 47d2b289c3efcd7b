/** Intervals from random draws, compared with all possible draws. */
import { RESAMPLES } from "../../../src/engine/eval/bootstrap.ts";
import type { Interval } from "../../../src/engine/runs/evaluations/evaluations.ts";
import type { CaseCheck } from "../case-check.ts";

/** Standard errors by which a resampled bound may miss its probability. */
const DEVIATIONS = 4;
/** Values of one draw, added in another order. */
const SAME = 1e-9;

/** All draws of `count` items with replacement, count^count of them. */
export function everyDraw(count: number): number[][] {
  return Array.from({ length: count ** count }, (_, code) =>
    Array.from({ length: count }, (_place, at) => Math.floor(code / count ** at) % count),
  );
}

/**
 * Compares both bounds with the values of all draws. Several draws have the same value: a bound must lie between the
 * probabilities below it and up to it.
 */
export function checkBounds(check: CaseCheck, all: readonly number[], { low, high }: Interval): void {
  const allowed = DEVIATIONS * Math.sqrt((0.025 * 0.975) / RESAMPLES);
  for (const [bound, wanted] of [[low, 0.025] as const, [high, 0.975] as const]) {
    const below = all.filter((value) => value < bound - SAME).length / all.length;
    const upTo = all.filter((value) => value <= bound + SAME).length / all.length;
    check.equal("bounds", true, below - allowed <= wanted && wanted <= upTo + allowed, `${wanted}`);
  }
}
