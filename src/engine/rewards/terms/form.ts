import { aboutLoop } from "../../rl/loops/abouts.ts";
import type { Measured, TermSpec } from "./spec.ts";

/**
 * The form that Seg-Zero and VideoSEG-O3 reward: an end token, and one [SEG] where a mask was asked for, none in a
 * caption. It says nothing about the content, so an empty answer that ends earns it; other terms prevent that.
 */
export const FORM = {
  name: "form",
  label: "Answer form",
  help: "Share of the conditions that the answer meets: an end token, and the expected number of [SEG] where it is sampled",
  measure: ({ loop, truncated, segments }): Measured => {
    const wanted = aboutLoop(loop).samples === "mask" ? 1 : 0;
    const faults = [
      ...(truncated ? ["no end token"] : []),
      ...(segments === undefined || segments === wanted ? [] : [`${segments} [SEG] instead of ${wanted}`]),
    ];
    const conditions = segments === undefined ? 1 : 2;
    const value = 1 - faults.length / conditions;
    return faults.length === 0 ? { value } : { value, note: faults.join(", ") };
  },
} as const satisfies TermSpec;
