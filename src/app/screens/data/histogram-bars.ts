/** Bars of the histograms on the Data screen, as ranges that a row filter can name. */
import { ANY, isWithin, type Limits } from "../../../engine/data/row-filter.ts";

/** Maximum bars of a histogram of words. */
const BARS = 20;

/** Ends of bars within a power of ten: about equal on a logarithmic scale, and short as text. */
const ENDS = [1, 1.5, 2, 3, 5, 7];
const AREA_ENDS = [0.001, 0.01, 0.1].flatMap((decade) => ENDS.map((end) => Number((end * decade).toPrecision(2))));

/** Bars of a logarithmic scale of shares 0..1, from the first with a value to the last. */
export function areaBars(shares: readonly number[]): readonly Limits[] {
  const bars = [ANY[0], ...AREA_ENDS].map((least, at): Limits => [least, AREA_ENDS[at] ?? 1]);
  const filled = countIn(shares, bars);
  return bars.slice(
    filled.findIndex((count) => count > 0),
    filled.findLastIndex((count) => count > 0) + 1,
  );
}

/** Bars of equal width over whole numbers; the largest one per cent of the numbers may share the last bar. */
export function wordBars(words: readonly number[]): readonly Limits[] {
  const sorted = [...words].sort((a, b) => a - b);
  const [least = 0, most = 0] = [sorted[0], sorted[Math.ceil(0.99 * (sorted.length - 1))]];
  const width = Math.ceil((most - least + 1) / BARS);
  const count = Math.ceil((most - least + 1) / width);
  return Array.from({ length: count }, (_, at): Limits => {
    const from = least + at * width;
    return [from, at === count - 1 && (sorted.at(-1) ?? 0) >= from + width ? ANY[1] : from + width - 1];
  });
}

/** Number of values in each bar; a share on the border of two bars counts in both, as in a filter. */
export function countIn(values: readonly number[], bars: readonly Limits[]): readonly number[] {
  return bars.map((bar) => values.reduce((sum, value) => sum + (isWithin(value, bar) ? 1 : 0), 0));
}
