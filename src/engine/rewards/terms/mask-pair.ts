/** Terms of two masks: coarser than IoU, so that they still differ if every IoU is 0. */
import type { Rle } from "../../data/mask/rle.ts";
import type { RolloutFacts } from "../term.ts";
import { type Measured, NO_GIVEN } from "./spec.ts";

/** A measure of the given and the predicted mask; like IoU, it is 0 without a predicted mask. */
export function maskPairTerm(compare: (given: Rle, predicted: Rle) => number | null) {
  return ({ given, predicted }: RolloutFacts): Measured => {
    if (given === null) return NO_GIVEN;
    if (predicted === null) return { value: 0, note: "no mask" };
    const value = compare(given, predicted);
    return value === null ? { value: 0, note: "empty mask" } : { value };
  };
}
