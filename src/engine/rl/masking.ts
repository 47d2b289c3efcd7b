/** Which tokens of a completion count (reference: grpo.md §7). */

export interface CompletionMasks {
  /** [N][T] 1 up to and including the first end token; all ones in a row without one. */
  readonly mask: number[][];
  /** [N] counted tokens, before truncated rows are removed. */
  readonly lengths: number[];
  /** [N] the row has no end token. */
  readonly truncated: boolean[];
}

/** @param ids [N][T] sampled ids, padded after the end token with anything. @param endIds all ids that end a completion */
export function completionMasks(ids: readonly (readonly number[])[], endIds: readonly number[]): CompletionMasks {
  const ends = new Set(endIds);
  const firstEnd = ids.map((row) => row.findIndex((id) => ends.has(id)));
  const lengths = ids.map((row, n) => ((firstEnd[n] as number) < 0 ? row.length : (firstEnd[n] as number) + 1));
  return {
    mask: ids.map((row, n) => row.map((_, t) => (t < (lengths[n] as number) ? 1 : 0))),
    lengths,
    truncated: firstEnd.map((position) => position < 0),
  };
}

/** Mask with truncated rows switched off (DAPO's overlong filtering); their reward still enters the group baseline. */
export function withoutTruncated(masks: CompletionMasks): number[][] {
  return masks.mask.map((row, n) => (masks.truncated[n] ? row.map(() => 0) : row));
}

/** TRL's length metrics from the lengths before any row is removed; the terminated ones are 0 when no row ended. */
export function lengthMetrics(masks: CompletionMasks): Record<string, number> {
  const ended = masks.lengths.filter((_, n) => !masks.truncated[n]);
  const total = masks.lengths.length;
  return {
    "completions/mean_length": mean(masks.lengths),
    "completions/min_length": least(masks.lengths),
    "completions/max_length": most(masks.lengths),
    "completions/clipped_ratio": total === 0 ? 0 : (total - ended.length) / total,
    "completions/mean_terminated_length": mean(ended),
    "completions/min_terminated_length": least(ended),
    "completions/max_terminated_length": most(ended),
  };
}

/** Counted tokens of a mask. */
export function activeTokens(mask: readonly (readonly number[])[]): number {
  return mask.reduce((sum, row) => sum + row.reduce((a, m) => a + m, 0), 0);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length;
}

function least(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((a, b) => Math.min(a, b));
}

function most(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((a, b) => Math.max(a, b));
}
