/** Random draws of held-out evaluations, the same in every run, so that runs can be compared. */

/** Sampled captions per row, and masks if the mask policy samples. */
export const EVAL_DRAWS = 4;
/** Stream number, different from those of training. */
export const EVAL_STREAM = 65;
/** Independent of the run's seed. */
export const EVAL_SEED = 20_260_101;
