/** Memory that attention uses for its scores and the head for its logits; the planner uses the same numbers. */

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
