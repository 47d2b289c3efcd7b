/** Identifies a custom reward by the hash of its source. */
import { sha256Hex } from "../../bytes/hash.ts";

/** SHA-256 of the source in hexadecimal; the empty source has an empty hash. */
export async function rewardHash(code: string): Promise<string> {
  return code.trim() === "" ? "" : sha256Hex(new TextEncoder().encode(code));
}
