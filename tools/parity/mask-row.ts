import { compareArrays, EXACT } from "./compare.ts";
import type { ParityRow } from "./row.ts";

/** Masks must agree wherever the golden logit is farther from 0 than this. */
const MASK_MARGIN = 2e-3;

/** Mask pixels whose golden logit is clearly away from 0. */
export function maskRow(
  name: string,
  expected: Float32Array,
  expectedLogits: Float32Array,
  logits: Float32Array,
): ParityRow {
  const clear = expectedLogits.map((logit) => (Math.abs(logit) > MASK_MARGIN ? 1 : 0));
  const select = (mask: ArrayLike<number>): Float32Array =>
    clear.map((use, at) => (use === 1 ? (mask[at] as number) : 0));
  const row = compareArrays(
    name,
    "mask pixels",
    select(expected),
    select(logits.map((logit) => Number(logit > 0))),
    EXACT,
  );
  return { ...row, tolerance: `exact where the logit is beyond ${MASK_MARGIN}` };
}
