import type { Consent } from "../../src/engine/rewards/consent.ts";

/** A user who agrees to everything, for tests of what follows. */
export const AGREED: Consent = { judge: () => true, reward: () => true };
