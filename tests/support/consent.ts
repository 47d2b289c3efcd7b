import type { Consent } from "../../src/engine/rewards/consent.ts";

/** Of a person who agrees to everything, for tests of what comes after. */
export const AGREED: Consent = { judge: () => true, reward: () => true };
