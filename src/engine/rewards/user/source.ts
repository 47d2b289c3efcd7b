/** A user's source as plain JavaScript. */
import { transform } from "sucrase";

/**
 * Types stripped, `export` turned into assignments; line numbers stay.
 * @throws Error with line and cause when the source cannot be read
 */
export function stripTypes(code: string): string {
  return transform(code, { transforms: ["typescript", "imports"], disableESTransforms: true, production: true }).code;
}
