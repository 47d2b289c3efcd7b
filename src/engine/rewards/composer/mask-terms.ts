/** Auxiliary terms of two masks: coarser than IoU, so that they still differ where every IoU is 0 (notes/002, 272). */
import { type Rle, rleBox, rleRuns } from "../../data/mask/rle.ts";

/** Overlap of the bounding boxes, 0..1; null when a mask is empty. */
export function boxIou(a: Rle, b: Rle): number | null {
  const [ax, ay, aw, ah] = rleBox(a);
  const [bx, by, bw, bh] = rleBox(b);
  if (aw * ah === 0 || bw * bh === 0) return null;
  const width = Math.max(0, Math.min(ax + aw, bx + bw) - Math.max(ax, bx));
  const height = Math.max(0, Math.min(ay + ah, by + bh) - Math.max(ay, by));
  return (width * height) / (aw * ah + bw * bh - width * height);
}

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
      // Runs go down the columns: cut at each column's end.
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
