import { LabError } from "../errors.ts";
import type { RewardTerm } from "./term.ts";

/**
 * Weighted sum of the terms of one rollout. A term that is missing (value null) and has a weight makes the whole
 * reward missing: a failed judge must never count as 0 (rewards.md §3, Requirements). Terms of weight 0 are shown
 * only and cannot make it missing.
 *
 * @returns the sum, or null when a needed part is missing or no term has a weight
 * @throws LabError("internal") when a value or weight is not finite, naming the term
 */
export function composeReward(terms: readonly RewardTerm[]): number | null {
  let sum = 0;
  let needed = 0;
  let missing = false;
  for (const { name, value, weight } of terms) {
    if (!Number.isFinite(weight) || (value !== null && !Number.isFinite(value))) {
      throw new LabError(
        "internal",
        `reward term "${name}" has value ${value} and weight ${weight}, not finite numbers`,
      );
    }
    if (weight === 0) continue;
    needed++;
    if (value === null) missing = true;
    else sum += weight * value;
  }
  return missing || needed === 0 ? null : sum;
}
