/** Memory that is held on purpose; the planner uses the same numbers. */

/**
 * Up to this many bytes a GPU keeps the scores of an attention: its stock products are faster, and the gradient needs
 * the scores again. Above, attention works in runs of queries, and its memory grows with the length instead of its
 * square.
 */
export const KEPT_SCORE_BYTES = 4 * 2 ** 20;

/**
 * Bytes of scores per run of queries, or logits per block: what fits the cache of a software adapter; on a GPU enough
 * to keep the number of runs low.
 */
export const RUN_BYTES = { software: 8 * 2 ** 20, card: 64 * 2 ** 20 } as const;

/** Bytes of small free buffers that are kept for the next phase. Lengths differ from step to step, and with them sizes: what fits none adds up. */
export const KEPT_FREE_BYTES = 16 * 2 ** 20;

/** Dispatches of one submit at most; what fewer and more cost: docs/performance.md. */
export const SUBMIT_DISPATCHES = 64;

/** Free buffers that are kept while a phase works: a share of the bytes in use, or this many bytes if that is more. */
export const FREE_SHARE = 1 / 16;
export const FREE_BYTES = 64 * 2 ** 20;
/** During a run no more than its plan leaves, or this share of the plan where it leaves less. */
export const PLANNED_FREE_SHARE = 1 / 32;
