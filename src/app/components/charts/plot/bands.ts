/** What a chart adds to its lines: the range of the values behind a smoothed line or over runs, and limits without outliers. */

/** Lowest and highest value at each place; NaN where there is none. */
export interface Band {
  readonly low: Float64Array<ArrayBuffer>;
  readonly high: Float64Array<ArrayBuffer>;
}

/** Approximate number of values that a smoothing weight averages: 1 / (1 − weight). */
export function windowOf(weight: number): number {
  return Math.max(1, Math.round(1 / (1 - Math.min(0.999, weight))));
}

/** Minimum and maximum of the last `size` finite values at each place; NaN where the value itself is not finite. */
export function rollingBand(values: ArrayLike<number>, size: number): Band {
  return {
    low: rolling(values, size, (a, b) => a <= b),
    high: rolling(values, size, (a, b) => a >= b),
  };
}

function rolling(values: ArrayLike<number>, size: number, beats: (a: number, b: number) => boolean): Band["low"] {
  const kept: { readonly place: number; readonly value: number }[] = [];
  let [first, place] = [0, -1];
  return Float64Array.from(values, (value) => {
    if (!Number.isFinite(value)) return Number.NaN;
    place++;
    while (kept.length > first && beats(value, (kept[kept.length - 1] as { value: number }).value)) kept.pop();
    kept.push({ place, value });
    while ((kept[first] as { place: number }).place <= place - size) first++;
    return (kept[first] as { value: number }).value;
  });
}

/** Minimum and maximum over lines; between two of its points a line is straight, outside them it has no value. */
export function bandOver(xs: ArrayLike<number>, lines: readonly ArrayLike<number>[]): Band {
  const [low, high] = [new Float64Array(xs.length).fill(Number.NaN), new Float64Array(xs.length).fill(Number.NaN)];
  for (const line of lines) {
    let before = -1;
    for (let at = 0; at < xs.length; at++) {
      if (!Number.isFinite(line[at] as number)) continue;
      for (let place = before < 0 ? at : before + 1; place <= at; place++) {
        const share =
          place === at
            ? 1
            : ((xs[place] as number) - (xs[before] as number)) / ((xs[at] as number) - (xs[before] as number));
        const from = place === at ? 0 : (line[before] as number);
        const value = from + ((line[at] as number) - from) * share;
        if (!(value >= (low[place] as number))) low[place] = value;
        if (!(value <= (high[place] as number))) high[place] = value;
      }
      before = at;
    }
  }
  return { low, high };
}

/** Fewer values have no outliers. */
const LEAST_VALUES = 8;

/**
 * Limits without outliers, which lie more than three interquartile ranges beyond the quartiles; limits of all values if
 * they are few or the quartiles are equal. Null without a finite value.
 */
export function innerLimits(values: ArrayLike<number>): readonly [number, number] | null {
  const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  if (least === undefined || most === undefined) return null;
  const quartile = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] as number;
  const [low, high] = [quartile(0.25), quartile(0.75)];
  if (sorted.length < LEAST_VALUES || high === low) return [least, most];
  return [Math.max(least, low - 3 * (high - low)), Math.min(most, high + 3 * (high - low))];
}
