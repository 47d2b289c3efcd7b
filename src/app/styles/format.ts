/** Formats of numbers on screens; an unmeasured value is a dash, never 0. */
import { SCORE_DECIMALS, signed as signedText } from "../../engine/runs/evaluations/difference-text.ts";

export const NONE = "–";

const isMissing = (value: number | null | undefined): value is null | undefined =>
  value === null || value === undefined || !Number.isFinite(value);

/** A number with fixed decimals and a true minus sign; "–" when missing, "NaN" or "∞" when not finite. */
export function fixed(value: number | null | undefined, decimals = 2): string {
  if (value === null || value === undefined) return NONE;
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = Math.abs(value).toFixed(decimals);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** A score, as it stands beside its difference. */
export const scoreText = (value: number | null | undefined): string => fixed(value, SCORE_DECIMALS);

/** A number inside a formula: one more decimal than its result, so that a reader who computes it finds the result. */
export const within = (value: number | null | undefined, decimals: number): string => fixed(value, decimals + 1);

/** A number with its sign always written, as for advantages; "±0.00" for one that rounds to 0. */
export function signed(value: number | null | undefined, decimals: number): string {
  return isMissing(value) ? fixed(value, decimals) : signedText(value, decimals);
}

/** A value of any magnitude in short form: fixed decimals near 1, powers of ten far from 1. */
export function compact(value: number | null | undefined): string {
  if (isMissing(value)) return fixed(value, 0);
  const size = Math.abs(value);
  // Smaller sums are rounding errors of 0.
  if (size < 1e-12) return "0";
  if (size < 1e-3 || size >= 1e6) return value.toExponential(1).replace("e+", "e").replaceAll("-", "−");
  return fixed(value, size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/** 12,345. */
export function formatCount(value: number | null | undefined): string {
  return isMissing(value) ? NONE : value.toLocaleString("en-US");
}

/** 1.4 GB, 812 kB: decimal units, as file managers use. */
export function formatBytes(bytes: number | null | undefined): string {
  if (isMissing(bytes)) return NONE;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [value, unit] = [bytes, 0];
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value.toFixed(unit === 0 || value >= 100 ? 0 : 1)} ${units[unit]}`;
}

/** A share 0..1 as a whole percentage. */
export function percent(share: number | null | undefined): string {
  return isMissing(share) ? NONE : `${Math.round(share * 100)} %`;
}

/** A share 0..1 as a percentage, with one decimal below 10 %: 12 %, 0.3 %. */
export function formatShare(share: number): string {
  return share > 0 && share < 0.1 ? `${(share * 100).toFixed(1)} %` : percent(share);
}

/** A measured time, from microseconds to hours: 0.42 ms, 38 ms, 1.24 s, 12.3 s, 2 min 05 s, 1 h 07 min. */
export function formatSeconds(seconds: number | null | undefined): string {
  if (isMissing(seconds)) return NONE;
  if (seconds === 0) return "0";
  if (seconds < 1) {
    const milliseconds = seconds * 1000;
    return `${milliseconds.toFixed(milliseconds < 1 ? 2 : milliseconds < 10 ? 1 : 0)} ms`;
  }
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const pair = (large: number, unit: string, small: number, smallUnit: string): string =>
    `${large} ${unit} ${String(small).padStart(2, "0")} ${smallUnit}`;
  const whole = Math.round(seconds);
  if (whole < 3600) return pair(Math.floor(whole / 60), "min", whole % 60, "s");
  return pair(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
}

/** A duration in its largest units: 45 s, 3 min, 2 h 5 min. */
export function formatAge(seconds: number): string {
  if (seconds < 60) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

/** The text with a capital at its beginning. */
export const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A count with its noun: 1 step, 2,000 steps. */
export function counted(count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? "" : "s"}`;
}
