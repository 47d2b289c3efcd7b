import { type Rle, rleRuns } from "../../data/mask/rle.ts";
import { maskPairTerm } from "./mask-pair.ts";
import type { TermSpec } from "./spec.ts";

export const CENTRE = {
  name: "centre",
  label: "Centre",
  help: "1 minus the distance of the two mask centres, divided by the picture's diagonal",
  measure: maskPairTerm(centreScore),
} as const satisfies TermSpec;

/** 1 minus the distance of the centres of mass over the picture's diagonal, 0..1; null when a mask is empty. */
export function centreScore(a: Rle, b: Rle): number | null {
  const [p, q] = [centreOfMass(a), centreOfMass(b)];
  if (p === null || q === null) return null;
  const [height, width] = a.size;
  return 1 - Math.hypot(p[0] - q[0], p[1] - q[1]) / Math.hypot(height, width);
}

/** Mean (x, y) of a mask's pixels; null when it has none. */
export function centreOfMass(mask: Rle): readonly [number, number] | null {
  const height = mask.size[0];
  let [area, sumX, sumY, at] = [0, 0, 0, 0];
  for (const [index, run] of rleRuns(mask).entries()) {
    if (index % 2 === 1) {
      // Runs go down the columns and are cut at each column's end.
      for (let start = at; start < at + run; ) {
        const column = Math.floor(start / height);
        const end = Math.min(at + run, (column + 1) * height);
        const length = end - start;
        area += length;
        sumX += column * length;
        sumY += length * ((start - column * height + (end - 1 - column * height)) / 2);
        start = end;
      }
    }
    at += run;
  }
  return area === 0 ? null : [sumX / area, sumY / area];
}
