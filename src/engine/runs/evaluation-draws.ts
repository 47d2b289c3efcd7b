/** Draws of held-out evaluations, the same in every run, so that runs can be compared with each other. */

/** Sampled captions per row, and sampled masks where the mask policy draws them. */
export const EVAL_DRAWS = 4;
/** Stream number, apart from those of training. */
export const EVAL_STREAM = 65;
/** Independent of the run's seed. */
export const EVAL_SEED = 20_260_101;
