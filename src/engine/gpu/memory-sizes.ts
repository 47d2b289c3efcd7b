/** Sizes of memory that is held on purpose; the planner uses the same numbers. */

/**
 * Maximum bytes of attention scores that a GPU keeps: stock products are faster there, and the gradient needs the
 * scores again. Above it, attention works in runs of queries, and its memory grows with the length instead of its
 * square.
 */
export const KEPT_SCORE_BYTES = 4 * 2 ** 20;

/**
 * Bytes of scores per run of queries, or of logits per block: on a software adapter they fit the processor's cache, on
 * a GPU they keep the number of runs low.
 */
export const RUN_BYTES = { software: 8 * 2 ** 20, card: 64 * 2 ** 20 } as const;

/** Maximum bytes of logits of a packed head at a time; with 151,679 tokens that is 55 positions. */
export const LOGIT_BYTES = 32 * 2 ** 20;

/**
 * Bytes of small free buffers kept for the next phase. Sizes differ from step to step, so buffers that fit no request
 * accumulate.
 */
export const KEPT_FREE_BYTES = 16 * 2 ** 20;

/** Maximum dispatches of one submit; docs/performance.md compares other numbers. */
export const SUBMIT_DISPATCHES = 64;

/**
 * Free buffers kept without a plan: this share of the bytes in use, or this many bytes if that is more. A plan counts
 * these bytes as free ones.
 */
export const FREE_SHARE = 1 / 16;
export const FREE_BYTES = 64 * 2 ** 20;
/** With a plan, free buffers may take all bytes that it leaves, or this share of the plan if that is more. */
export const PLANNED_FREE_SHARE = 1 / 32;
