/**
 * Points to draw when there are more points than pixels: the minimum and maximum finite value of every series in each
 * of `buckets` equal ranges, so that no spike is lost. The stored data is never thinned.
 *
 * @param columns series of one length, sharing their x
 * @param from first index, inclusive
 * @param to last index, exclusive
 * @returns ascending indices, first and last included; null when every point can be drawn
 */
export function thinIndices(
  columns: readonly ArrayLike<number>[],
  from: number,
  to: number,
  buckets: number,
): Uint32Array<ArrayBuffer> | null {
  const count = to - from;
  if (buckets < 1 || count <= buckets * 2) return null;
  const keep = new Set<number>([from, to - 1]);
  for (let bucket = 0; bucket < buckets; bucket++) {
    const start = from + Math.floor((bucket * count) / buckets);
    const end = from + Math.floor(((bucket + 1) * count) / buckets);
    for (const column of columns) {
      let [least, greatest] = [-1, -1];
      for (let at = start; at < end; at++) {
        const value = column[at] as number;
        if (!Number.isFinite(value)) {
          // One missing value is enough to break the line.
          if (at === start || Number.isFinite(column[at - 1] as number)) keep.add(at);
          continue;
        }
        if (least < 0 || value < (column[least] as number)) least = at;
        if (greatest < 0 || value > (column[greatest] as number)) greatest = at;
      }
      if (least >= 0) keep.add(least);
      if (greatest >= 0) keep.add(greatest);
    }
  }
  return Uint32Array.from(keep).sort();
}

/** First index whose x is at least `x`, in ascending `xs`; xs.length when there is none. */
export function lowerBound(xs: ArrayLike<number>, x: number): number {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((xs[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
