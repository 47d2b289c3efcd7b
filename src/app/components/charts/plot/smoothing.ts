/**
 * Bias-corrected exponential mean, as in TensorBoard:
 * m ← w·m + (1 − w)·x, shown m / (1 − wⁿ) with n the count of finite points so far.
 * A point that is not finite is skipped and stays a gap; a constant series comes back unchanged.
 *
 * @param weight 0 (off) to 0.999
 */
export function smooth(values: ArrayLike<number>, weight: number): Float64Array<ArrayBuffer> {
  const smoothed = Float64Array.from(values);
  const w = Math.min(0.999, Math.max(0, weight));
  if (w === 0 || isConstant(values)) return smoothed;
  let [mean, correction] = [0, 1];
  for (let at = 0; at < smoothed.length; at++) {
    const value = smoothed[at] as number;
    if (!Number.isFinite(value)) continue;
    mean = w * mean + (1 - w) * value;
    correction *= w;
    smoothed[at] = mean / (1 - correction);
  }
  return smoothed;
}

/** Indices of measured values that are not finite; `isGap` excludes the NaN of a gap. */
export function nonFinitePlaces(values: ArrayLike<number>, isGap: (at: number) => boolean = () => false): number[] {
  const places: number[] = [];
  for (let at = 0; at < values.length; at++) {
    if (!Number.isFinite(values[at] as number) && !isGap(at)) places.push(at);
  }
  return places;
}

function isConstant(values: ArrayLike<number>): boolean {
  let first: number | null = null;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number;
    if (!Number.isFinite(value)) continue;
    if (first === null) first = value;
    else if (value !== first) return false;
  }
  return true;
}
