/** A user's source as plain JavaScript. */
import { transform } from "sucrase";

/**
 * Strips types and turns `export` into assignments; line numbers stay.
 * @throws Error with line and cause when the source cannot be read
 */
export function stripTypes(code: string): string {
  return transform(code, { transforms: ["typescript", "imports"], disableESTransforms: true, production: true }).code;
}
