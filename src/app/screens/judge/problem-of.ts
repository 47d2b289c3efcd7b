import { thrownText } from "../../../engine/errors.ts";

/** Message of the error that a check throws; null if it throws none. */
export function problemOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (thrown) {
    return thrownText(thrown);
  }
}
