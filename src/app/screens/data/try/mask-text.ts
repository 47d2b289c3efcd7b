import { maskIou, type Rle, rleArea } from "../../../../engine/data/mask/rle.ts";
import { fixed, formatShare } from "../../../styles/format.ts";

/**
 * Describes a predicted mask: its share of the picture, its confidence and its IoU with the row.
 * @param confidence 0..1, or null when the model gives none
 * @param truth the row's mask; a mask of another size belongs to another picture and is not compared
 */
export function maskText(found: { readonly mask: Rle; readonly confidence: number | null }, truth: Rle | null): string {
  const [height, width] = found.mask.size;
  const area = rleArea(found.mask);
  if (area === 0) return "an empty mask";
  const parts = [`${formatShare(area / (height * width))} of the picture`];
  if (found.confidence !== null) parts.push(`confidence ${fixed(found.confidence)}`);
  if (truth !== null && truth.size[0] === height && truth.size[1] === width) {
    parts.push(`IoU with the row's mask ${fixed(maskIou(found.mask, truth).iou)}`);
  }
  return parts.join(" · ");
}
