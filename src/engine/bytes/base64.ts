/** Bytes as text in base64. */
import { latin1 } from "./text.ts";

export function base64(bytes: Uint8Array): string {
  return btoa(latin1(bytes));
}
