/** Packs rows of unequal length into one padded grid. */
import type { Completion } from "../../policy/decode/generate.ts";

/** [N][≤ T] → [N·T], padded with `fill`. */
export function padRows(rows: readonly (readonly number[])[], width: number, fill = 0): Float32Array {
  const grid = new Float32Array(rows.length * width).fill(fill);
  rows.forEach((row, n) => {
    grid.set(row, n * width);
  });
  return grid;
}

/** Width T (at least 1) and mask [N·T] of sampled captions; the end token counts. */
export function captionMask(
  completions: readonly Completion[],
  maskTruncated: boolean,
): { readonly mask: Float32Array; readonly width: number } {
  const width = Math.max(1, ...completions.map((completion) => completion.ids.length));
  const ones = completions.map((completion) => {
    const counts = completion.ended || !maskTruncated ? 1 : 0;
    return completion.ids.map(() => counts);
  });
  return { mask: padRows(ones, width), width };
}
