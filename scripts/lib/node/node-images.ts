import { convertIndexedToRgb } from "fast-png";
import jpeg from "jpeg-js";
import { toRgb } from "../../../src/engine/data/image/orient.ts";
import { decodePng } from "../../../src/engine/data/image/png-decode.ts";
import { unpacked } from "../../../src/engine/data/mask/mask-picture.ts";
import type { ImageDecoder } from "../../../src/engine/data/sample.ts";
import { badInput, LabError } from "../../../src/engine/errors.ts";

/**
 * Decodes JPEG and PNG under Node, for tools and tests. PNG equals PIL exactly, except grey of 16 bits, whose upper byte
 * is taken (PIL makes values above 255 white); a JPEG with halved colour planes differs from it at sharp colour edges,
 * because jpeg-js repeats colour values where libjpeg interpolates.
 * @throws LabError("bad-input") for a damaged picture, "unsupported" for formats only a browser decodes here
 */
export const decodeImage: ImageDecoder = async (image) => {
  try {
    if (image.mime === "image/jpeg") {
      const options = { useTArray: true, formatAsRGBA: true, maxMemoryUsageInMB: 768 } as const;
      const decoded = jpeg.decode(
        image.bytes,
        storesRgb(image.bytes) ? { ...options, colorTransform: false } : options,
      );
      return toRgb(image, decoded, 4);
    }
    if (image.mime === "image/png") {
      const decoded = decodePng(image.bytes, "picture's");
      const indexed = decoded.palette !== undefined;
      const channels = indexed ? (decoded.palette?.[0]?.length ?? 3) : decoded.channels;
      const data = indexed ? convertIndexedToRgb(decoded) : unpacked(decoded);
      return toRgb(image, { ...decoded, data }, channels, indexed ? 255 : 2 ** decoded.depth - 1);
    }
  } catch (thrown) {
    if (thrown instanceof LabError) throw thrown;
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    throw badInput(`the ${image.mime} picture cannot be decoded: ${cause}`, undefined, thrown);
  }
  throw new LabError("unsupported", `${image.mime} pictures are decoded in the browser only`);
};

/**
 * Whether a JPEG stores red, green and blue, as libjpeg decides: its Adobe segment says that no transform was applied,
 * and no JFIF segment contradicts it. jpeg-js takes every picture of three components for YCbCr.
 */
function storesRgb(bytes: Uint8Array): boolean {
  const starts = (at: number, text: string): boolean =>
    [...text].every((one, n) => bytes[at + n] === one.charCodeAt(0));
  let rgb = false;
  for (let at = 2; bytes[at] === 0xff && bytes[at + 1] !== 0xda; ) {
    const body = at + 4;
    if (bytes[at + 1] === 0xe0 && starts(body, "JFIF\0")) return false;
    if (bytes[at + 1] === 0xee && starts(body, "Adobe")) rgb = bytes[body + 11] === 0;
    at += 2 + (((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number));
  }
  return rgb;
}
