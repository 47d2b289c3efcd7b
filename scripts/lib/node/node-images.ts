import { convertIndexedToRgb } from "fast-png";
import jpeg from "jpeg-js";
import { toRgb } from "../../../src/engine/data/image/orient.ts";
import { decodePng } from "../../../src/engine/data/image/png-decode.ts";
import { unpacked } from "../../../src/engine/data/mask/mask-picture.ts";
import type { ImageDecoder } from "../../../src/engine/data/sample.ts";
import { LabError } from "../../../src/engine/errors.ts";

/**
 * Decodes JPEG and PNG under Node, for tools and tests. PNG equals PIL exactly; a JPEG with halved colour planes differs
 * from it at sharp colour edges, because jpeg-js repeats colour values where libjpeg interpolates.
 * @throws LabError("bad-input") for a damaged picture, "unsupported" for formats only a browser decodes here
 */
export const decodeImage: ImageDecoder = async (image) => {
  try {
    if (image.mime === "image/jpeg") {
      const decoded = jpeg.decode(image.bytes, { useTArray: true, formatAsRGBA: true, maxMemoryUsageInMB: 768 });
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
    throw new LabError("bad-input", `the ${image.mime} picture cannot be decoded: ${cause}`, { cause: thrown });
  }
  throw new LabError("unsupported", `${image.mime} pictures are decoded in the browser only`);
};
