import { convertIndexedToRgb } from "fast-png";
import { toRgb } from "../../../src/engine/data/image/decode-bitmap.ts";
import { decodePng } from "../../../src/engine/data/image/png-decode.ts";
import { unpacked } from "../../../src/engine/data/mask/mask-picture.ts";
import type { ImageDecoder } from "../../../src/engine/data/sample.ts";
import { badInput, LabError } from "../../../src/engine/errors.ts";
import { decodeJpeg } from "./jpeg-decode.ts";

/**
 * Decodes JPEG and PNG under Node, for tools and tests. PNG equals PIL exactly, except grey of 16 bits, whose upper byte
 * is taken (PIL makes values above 255 white). Values of a JPEG differ by rounding, mostly by one level.
 * @throws LabError("bad-input") for a damaged picture, "unsupported" for formats only a browser decodes here
 */
export const decodeImage: ImageDecoder = async (image) => {
  try {
    if (image.mime === "image/jpeg") return toRgb(image, decodeJpeg(image.bytes), 4);
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
