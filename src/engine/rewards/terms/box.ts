import { type Rle, rleBox } from "../../data/mask/rle.ts";
import { maskPairTerm } from "./mask-pair.ts";
import type { TermSpec } from "./spec.ts";

export const BOX = {
  name: "box",
  label: "Box IoU",
  help: "IoU of the two bounding boxes",
  measure: maskPairTerm(boxIou),
} as const satisfies TermSpec;

/** Overlap of the bounding boxes, 0..1; null when a mask is empty. */
export function boxIou(a: Rle, b: Rle): number | null {
  const [ax, ay, aw, ah] = rleBox(a);
  const [bx, by, bw, bh] = rleBox(b);
  if (aw * ah === 0 || bw * bh === 0) return null;
  const width = Math.max(0, Math.min(ax + aw, bx + bw) - Math.max(ax, bx));
  const height = Math.max(0, Math.min(ay + ah, by + bh) - Math.max(ay, by));
  return (width * height) / (aw * ah + bw * bh - width * height);
}
