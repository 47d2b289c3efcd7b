import { badInput } from "../../errors.ts";
import type { EncodedImage, RgbImage } from "../sample.ts";

/**
 * Decoded pixels as RGB in the sample's orientation, like PIL's convert: alpha is dropped (not blended), grey is repeated,
 * 16 bits are reduced to 8.
 * @param data row-major, `channels` values per pixel: 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA
 * @param maximum largest value of a channel: 255, or 65535 for 16 bits, or 2^depth - 1
 * @throws LabError("bad-input") when the decoded size differs from the header
 */
export function toRgb(
  image: Pick<EncodedImage, "width" | "height" | "orientation">,
  decoded: { readonly width: number; readonly height: number; readonly data: ArrayLike<number> },
  channels: number,
  maximum = 255,
): RgbImage {
  const { width, height, orientation } = image;
  const turned = orientation >= 5;
  const [storedWidth, storedHeight] = turned ? [height, width] : [width, height];
  if (decoded.width !== storedWidth || decoded.height !== storedHeight) {
    throw badInput(
      `the picture decodes to ${decoded.width} x ${decoded.height} pixels, its header says ${storedWidth} x ${storedHeight}`,
    );
  }
  const data = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [sx, sy] = stored(x, y, storedWidth, storedHeight, orientation);
      const from = (sy * storedWidth + sx) * channels;
      const to = (y * width + x) * 3;
      for (let c = 0; c < 3; c++) {
        const value = decoded.data[from + (channels < 3 ? 0 : c)] as number;
        data[to + c] = maximum === 255 ? value : maximum > 255 ? value >> 8 : Math.round((value * 255) / maximum);
      }
    }
  }
  return { width, height, data };
}

/**
 * A mask in the orientation of the stored pixels: the inverse of the rotation in `toRgb`.
 * @param mask [height · width] in the sample's orientation
 * @returns the same length; from orientation 5 on, width and height are exchanged
 */
export function toStored(mask: Uint8Array, width: number, height: number, orientation: number): Uint8Array {
  if (orientation === 1) return mask;
  const [storedWidth, storedHeight] = orientation >= 5 ? [height, width] : [width, height];
  const out = new Uint8Array(mask.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [sx, sy] = stored(x, y, storedWidth, storedHeight, orientation);
      out[sy * storedWidth + sx] = mask[y * width + x] as number;
    }
  }
  return out;
}

/** Stored position of the pixel shown at (x, y), by EXIF orientation 1..8. */
function stored(x: number, y: number, width: number, height: number, orientation: number): [number, number] {
  switch (orientation) {
    case 2:
      return [width - 1 - x, y];
    case 3:
      return [width - 1 - x, height - 1 - y];
    case 4:
      return [x, height - 1 - y];
    case 5:
      return [y, x];
    case 6:
      return [y, height - 1 - x];
    case 7:
      return [width - 1 - y, height - 1 - x];
    case 8:
      return [width - 1 - y, x];
    default:
      return [x, y];
  }
}
