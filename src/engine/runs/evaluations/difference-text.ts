/** Paired differences as text, alike on the page, in the tools and in exported reports. */
import { isRecord } from "../../bytes/json.ts";
import type { EvalReport, Interval } from "./evaluations.ts";

/** Differences up to this size are ties: rounding errors of scores. */
export const TIE = 1e-6;

/** "better" or "worse" only if the 95 % interval excludes 0. Without spread there is no interval. */
export function verdict(difference: Pick<Interval, "low" | "high"> | null): "better" | "worse" | "open" {
  if (difference === null || difference.low === difference.high) return "open";
  if (difference.low > TIE) return "better";
  return difference.high < -TIE ? "worse" : "open";
}

/** The interval of a difference. Without spread there is none: over one picture, or where nothing changed. */
export function rangeText(difference: Interval): string {
  const { mean, low, high } = difference;
  if ([mean, low, high].every((value) => Math.abs(value) <= TIE)) return "no change";
  if (low === high) return "no interval";
  const decimals = decimalsOf(difference);
  return `${signed(low, decimals)} to ${signed(high, decimals)}`;
}

/** The mean of a difference, with as many decimals as its interval. */
export function meanText(difference: Interval): string {
  return signed(difference.mean, decimalsOf(difference));
}

/**
 * At least three decimals. More where all numbers are below 0.001: two significant digits of the largest; and where the
 * interval excludes 0: one significant digit of its end nearest to 0.
 */
function decimalsOf(difference: Interval): number {
  const { mean, low, high } = difference;
  const largest = Math.max(...[mean, low, high].map(Math.abs));
  if (largest <= TIE) return 3;
  const nearest = verdict(difference) === "open" ? 1 : Math.min(Math.abs(low), Math.abs(high));
  const ofLargest = largest < 1e-3 ? 1 - Math.floor(Math.log10(largest)) : 3;
  return Math.max(ofLargest, Math.ceil(-Math.log10(nearest)));
}

/** JSON of the tools: the ends of an interval without spread are null. */
export function intervalJson(value: unknown): string {
  return JSON.stringify(value, (key, own: unknown) => {
    if (!isRecord(own)) return own;
    // Intervals of means are stored as pairs.
    if (key === "ci") {
      return Object.fromEntries(
        Object.entries(own as EvalReport["ci"]).map(([of, [low, high]]) => [
          of,
          low === high ? [null, null] : [low, high],
        ]),
      );
    }
    return "low" in own && own.low === own.high ? { ...own, low: null, high: null } : own;
  });
}

/** Minimum number of pictures for a reliable interval. */
const LEAST_PICTURES = 10;

/** The warning next to intervals over few pictures, else "" (docs/spec/evaluation.md#61-the-unit-is-the-picture). */
export function fewPicturesText(pictures: number): string {
  return pictures < LEAST_PICTURES ? `with fewer than ${LEAST_PICTURES} pictures no interval can be trusted` : "";
}

export function differenceText(difference: Interval): string {
  return `${meanText(difference)} (${rangeText(difference)})`;
}

/** `differenceText` in Markdown: bold if the interval is on one side of 0. */
export function markedDifference(difference: Interval): string {
  const text = differenceText(difference);
  return verdict(difference) === "open" ? text : `**${text}**`;
}

/** Fixed decimals with a sign; a value that rounds to 0 has no sign. */
export function signed(value: number, decimals = decimalsOf({ mean: value, low: value, high: value })): string {
  const digits = Math.abs(value).toFixed(decimals);
  return Number(digits) === 0 ? digits : `${value > 0 ? "+" : "−"}${digits}`;
}
