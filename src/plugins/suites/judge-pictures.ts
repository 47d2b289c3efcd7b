/**
 * Pictures of a row that a judge receives with the caption, as the published judges do
 * (docs/spec/evaluation.md#2-region-captioning).
 */
import { base64 } from "../../engine/bytes/text.ts";
import { decodeRle, type Rle, rleBox } from "../../engine/data/mask/rle.ts";
import type { EncodedImage, RgbImage } from "../../engine/data/sample.ts";
import { encodePng } from "../../engine/runs/rollouts/rollout-picture.ts";
import type { JudgeSees } from "./suite.ts";

/** Minimum side of a mask's box before it is enlarged, in pixels. */
const LEAST_SIDE = 56;
const ENLARGED = 3;
/** Picture formats that judges read; others are converted to PNG. */
const SENT_AS_IT_IS = /^image\/(jpeg|png|webp)$/;

/**
 * Data URLs: the picture, then for each mask the mask (`masks`), or a crop of three box sizes and the mask's crop (`crops`).
 * @param rgb the decoded picture, of the size of the masks
 */
export function judgePictures(
  sees: JudgeSees,
  image: EncodedImage,
  rgb: RgbImage,
  masks: readonly Rle[],
): readonly string[] {
  const whole = SENT_AS_IT_IS.test(image.mime) ? dataUrl(image.mime, image.bytes) : pngUrl(rgb);
  const shown = masks.flatMap((mask) => {
    const white = maskImage(mask);
    if (sees === "masks") return [white];
    const box = enlarged(rleBox(mask), rgb);
    return [crop(rgb, box), crop(white, box)];
  });
  return [whole, ...shown.map(pngUrl)];
}

type Box = readonly [left: number, top: number, width: number, height: number];

/** The box around the same centre, three times as large, within the picture. */
function enlarged([left, top, width, height]: Box, { width: right, height: bottom }: RgbImage): Box {
  const side = (from: number, length: number, end: number): [from: number, length: number] => {
    const half = (ENLARGED * Math.max(LEAST_SIDE, length)) / 2;
    const start = Math.max(0, Math.floor(from + length / 2 - half));
    return [start, Math.min(end, Math.ceil(from + length / 2 + half)) - start];
  };
  const [x, across] = side(left, width, right);
  const [y, down] = side(top, height, bottom);
  return [x, y, across, down];
}

function crop(image: RgbImage, [left, top, width, height]: Box): RgbImage {
  const data = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; y++) {
    const start = 3 * ((top + y) * image.width + left);
    data.set(image.data.subarray(start, start + 3 * width), 3 * y * width);
  }
  return { width, height, data };
}

/** A mask in white on black. */
function maskImage(mask: Rle): RgbImage {
  const [height, width] = mask.size;
  const pixels = decodeRle(mask);
  const data = new Uint8Array(3 * pixels.length);
  for (let at = 0; at < pixels.length; at++) {
    if (pixels[at] === 1) data.fill(255, 3 * at, 3 * at + 3);
  }
  return { width, height, data };
}

function pngUrl(image: RgbImage): string {
  return dataUrl("image/png", encodePng(image));
}

function dataUrl(mime: string, bytes: Uint8Array): string {
  return `data:${mime};base64,${base64(bytes)}`;
}
