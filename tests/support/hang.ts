/** Milliseconds after which a test counts as hanging. No slow or busy machine comes near it. */
export const HANG = 30 * 60_000;

/** The same for one wait of a test, so that the test can still say what it waited for. */
export const WAIT = HANG / 2;
