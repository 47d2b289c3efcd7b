import { type MaskIou, maskIou, type Rle } from "../../data/mask/rle.ts";
import { badInput, LabError } from "../../errors.ts";
import { type IouShape, type Measured, NO_GIVEN, type TermSpec, type TermTools } from "./spec.ts";

/**
 * IoU of given and predicted mask in the form of the settings (docs/spec/rewards.md#4-reward-hacking, Empty generations).
 */
export const IOU = {
  name: "iou",
  label: "IoU",
  help: "IoU of the given and the predicted mask",
  measure: ({ given, predicted }, { settings: { iouShape, emptyPair } }: TermTools) =>
    given === null ? NO_GIVEN : shapedIou(given, predicted, iouShape, emptyPair),
} as const satisfies TermSpec;

/** Overlaps at which the tiered form adds another third. */
const IOU_TIERS = [0.5, 0.7, 0.9] as const;

/** IoU of two empty masks in evaluations, as in cocoapi. */
const EVALUATION_EMPTY_PAIR = 0;
/** IoU of two empty masks in the reward, unless the setting differs. */
const REWARD_EMPTY_PAIR = 1;

/** Pixels of a mask, row-major height · width; any value except 0 is foreground. */
export interface PixelMask {
  readonly height: number;
  readonly width: number;
  readonly pixels: Uint8Array;
}

/**
 * Intersection over union of two masks of one size with its pixel counts (docs/spec/rewards.md#iou).
 * @param emptyPairValue value when both are empty and the ratio is undefined
 * @throws LabError("bad-input") when the sizes differ
 */
export function regionIou(a: PixelMask | Rle, b: PixelMask | Rle, emptyPairValue = EVALUATION_EMPTY_PAIR): MaskIou {
  const [sizeA, sizeB] = [sizeOf(a), sizeOf(b)];
  if (sizeA !== sizeB) {
    throw badInput(`a mask of ${sizeA} pixels cannot be compared with one of ${sizeB}; none was scored`);
  }
  const counts = compare(a, b);
  return counts.union === 0 ? { ...counts, iou: emptyPairValue } : counts;
}

/**
 * Reward for an overlap in 0..1: unchanged, squared (rewards precision more), or in steps of a third at the tiers.
 * @throws LabError("internal") when the overlap is not in 0..1
 */
export function shapeIou(kind: IouShape, iou: number): number {
  if (!(iou >= 0 && iou <= 1)) throw new LabError("internal", `an IoU of ${iou} lies outside 0 to 1`);
  if (kind === "plain") return iou;
  if (kind === "squared") return iou * iou;
  return IOU_TIERS.filter((tier) => iou >= tier).length / IOU_TIERS.length;
}

/**
 * The reward of a pair of masks. No mask at all (no segmentation token) scores 0; it is neither an error nor missing.
 * Only a pair of two empty masks scores `emptyPair`, unshaped.
 * @throws LabError("bad-input") when the sizes differ
 */
export function shapedIou(
  given: PixelMask | Rle,
  predicted: PixelMask | Rle | null,
  shape: IouShape = "plain",
  emptyPair = REWARD_EMPTY_PAIR,
): Measured {
  if (predicted === null) return { value: 0, note: "no mask" };
  const { intersection, union, iou } = regionIou(given, predicted, emptyPair);
  const counts = { intersection, union };
  if (union === 0) return { value: emptyPair, iou: counts, note: "both masks empty" };
  const measured: Measured = { value: shapeIou(shape, iou), iou: counts };
  return intersection === 0 && regionIou(predicted, predicted).union === 0
    ? { ...measured, note: "empty mask" }
    : measured;
}

function compare(a: PixelMask | Rle, b: PixelMask | Rle): MaskIou {
  if ("counts" in a && "counts" in b) return maskIou(a, b);
  if ("pixels" in a && "pixels" in b) return maskIou(checkedPixels(a), checkedPixels(b));
  throw new LabError("internal", "regionIou compares two masks of the same form");
}

function checkedPixels({ height, width, pixels }: PixelMask): Uint8Array {
  if (pixels.length !== height * width) {
    throw new LabError("internal", `a mask of ${height} x ${width} has ${pixels.length} pixels`);
  }
  return pixels;
}

function sizeOf(mask: PixelMask | Rle): string {
  return "counts" in mask ? `${mask.size[0]} x ${mask.size[1]}` : `${mask.height} x ${mask.width}`;
}
