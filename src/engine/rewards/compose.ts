import { LabError } from "../errors.ts";
import type { RewardTerm } from "./term.ts";

/** Largest reward: sums and squares over a group stay finite, even in f32. */
const LARGEST = 1e12;

function tooLarge(name: string, value: number, weight: number): LabError {
  return new LabError(
    "held",
    `The reward term "${name}" of ${value} with weight ${weight} is beyond ${LARGEST}; lower one of them`,
    { subject: name },
  );
}

/**
 * Weighted sum of the terms of one rollout. A term that is missing (value null) and has a weight makes the whole reward
 * missing: a failed judge must never count as 0 (docs/spec/rewards.md#requirements-for-any-of-them). Terms of weight 0
 * are only shown and cannot make it missing.
 *
 * @returns the sum, or null when a needed part is missing or no term has a weight
 * @throws LabError("internal") when a value or weight is not finite, LabError("held") when the sum is too large to be
 *   averaged, each naming the term
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
    else {
      sum += weight * value;
      if (Math.abs(sum) > LARGEST) throw tooLarge(name, value, weight);
    }
  }
  return missing || needed === 0 ? null : sum;
}
