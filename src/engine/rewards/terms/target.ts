import { rleArea } from "../../data/mask/rle.ts";
import { type Measured, NO_GIVEN, type TermSpec } from "./spec.ts";

/**
 * gRefCOCO's no-target and target accuracy of one answer. Where every row has an object, any mask earns it; IoU prevents
 * masks on the wrong one.
 */
export const TARGET = {
  name: "target",
  label: "No target",
  help: "1 if the answer has a mask exactly where the row has an object, 0 for a mask without an object or an object without a mask",
  measure: ({ given, predicted }): Measured => {
    if (given === null) return NO_GIVEN;
    const [there, found] = [rleArea(given) > 0, predicted !== null && rleArea(predicted) > 0];
    if (there === found) return { value: 1 };
    return { value: 0, note: there ? "no mask for the object" : "a mask without an object" };
  },
} as const satisfies TermSpec;
