import { shapedIou } from "./iou.ts";
import { type IouBand, type Measured, NO_GIVEN, type TermSpec, type TermTools } from "./spec.ts";

/**
 * A signed IoU: an overlap below the centre costs. Above the upper end it does not distinguish masks; add IoU where their
 * contours matter.
 */
export const BANDED = {
  name: "banded",
  label: "Banded IoU",
  help: "Slope · (IoU − centre), clipped to the band: negative for overlaps below the centre, equal beyond the ends of the band",
  measure: ({ given, predicted }, { settings: { band, emptyPair } }: TermTools): Measured => {
    if (given === null) return NO_GIVEN;
    const { value, ...details } = shapedIou(given, predicted, "plain", emptyPair);
    return { ...details, value: value === null ? null : bandedIou(value, band) };
  },
} as const satisfies TermSpec;

/** @param iou 0..1 @returns low..high */
export function bandedIou(iou: number, { slope, centre, low, high }: IouBand): number {
  return Math.min(high, Math.max(low, slope * (iou - centre)));
}
