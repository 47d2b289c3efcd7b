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
export function rangeText({ mean, low, high }: Interval): string {
  if ([mean, low, high].every((value) => Math.abs(value) <= TIE)) return "no change";
  if (low === high) return "no interval";
  return `${signed(low)} to ${signed(high)}`;
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
  return `${signed(difference.mean)} (${rangeText(difference)})`;
}

/** `differenceText` in Markdown: bold if the interval is on one side of 0. */
export function markedDifference(difference: Interval): string {
  const text = differenceText(difference);
  return verdict(difference) === "open" ? text : `**${text}**`;
}

/** Fixed decimals with a sign, two significant digits if they would show at most one; rounding errors are 0, without a sign. */
export function signed(value: number, decimals = 3): string {
  const size = Math.abs(value);
  if (size <= TIE) return (0).toFixed(decimals);
  return `${value > 0 ? "+" : "−"}${size < 10 ** -decimals ? size.toPrecision(2) : size.toFixed(decimals)}`;
}
