/** How much attention holds of its scores and the head of its logits; the planner counts with the same numbers. */

/**
 * Scores of one attention in bytes up to which a graphics card keeps them: its stock products are faster, and the gradient
 * needs them again. Above, attention works in runs of queries, and what it holds grows with the length, not its square.
 */
export const KEPT_SCORE_BYTES = 4 * 2 ** 20;

/** Scores of one run of queries, or logits of one run of words: on a software adapter what a cache holds, on a card what keeps runs few. */
export const RUN_BYTES = { software: 8 * 2 ** 20, card: 64 * 2 ** 20 } as const;
