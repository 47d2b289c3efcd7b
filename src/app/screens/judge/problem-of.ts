import { thrownText } from "../../../engine/errors.ts";

/** What a check throws, in one sentence; null if it throws nothing. */
export function problemOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (thrown) {
    return thrownText(thrown);
  }
}
