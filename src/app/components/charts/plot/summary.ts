import { compact } from "../../../styles/format.ts";

/** One sentence that describes a curve, for screen readers. */
export function describeSeries(label: string, steps: ArrayLike<number>, values: ArrayLike<number>): string {
  let [first, last] = [-1, -1];
  let [least, greatest] = [Infinity, -Infinity];
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number;
    if (!Number.isFinite(value)) continue;
    if (first < 0) first = at;
    last = at;
    least = Math.min(least, value);
    greatest = Math.max(greatest, value);
  }
  if (first < 0) return `${label} has no values`;
  const [start, end] = [values[first] as number, values[last] as number];
  if (first === last) return `${label} is ${compact(end)} at step ${steps[last]}`;
  const change = end === start ? "stays at" : end > start ? "rises to" : "falls to";
  const from = end === start ? "" : ` from ${compact(start)}`;
  return `${label} ${change} ${compact(end)}${from} between steps ${steps[first]} and ${steps[last]}, range ${compact(least)} to ${compact(greatest)}`;
}
