import { convertIndexedToRgb, type DecodedPng, decode as decodePng } from "fast-png";
import jpeg from "jpeg-js";
import { toRgb } from "../../src/engine/data/orient.ts";
import type { ImageDecoder } from "../../src/engine/data/sample.ts";
import { LabError } from "../../src/engine/errors.ts";

/**
 * Decodes JPEG and PNG under Node, for tools and tests. PNG equals PIL exactly; a JPEG with halved colour planes differs
 * from it at sharp colour edges, because jpeg-js repeats colour values where libjpeg interpolates.
 * @throws LabError("bad-input") for a damaged picture, "unsupported" for formats only a browser decodes here
 */
export const decodeImage: ImageDecoder = async (image) => {
  try {
    if (image.mime === "image/jpeg") {
      const decoded = jpeg.decode(image.bytes, { useTArray: true, formatAsRGBA: true, maxMemoryUsageInMB: 2048 });
      return toRgb(image, decoded, 4);
    }
    if (image.mime === "image/png") {
      const decoded = decodePng(image.bytes);
      const indexed = decoded.palette !== undefined;
      const channels = indexed ? (decoded.palette?.[0]?.length ?? 3) : decoded.channels;
      const data = indexed ? convertIndexedToRgb(decoded) : unpackBits(decoded);
      return toRgb(image, { ...decoded, data }, channels, indexed ? 255 : 2 ** decoded.depth - 1);
    }
  } catch (thrown) {
    if (thrown instanceof LabError) throw thrown;
    const cause = thrown instanceof Error ? thrown.message : String(thrown);
    throw new LabError("bad-input", `the ${image.mime} picture cannot be decoded: ${cause}`, { cause: thrown });
  }
  throw new LabError("unsupported", `${image.mime} pictures are decoded in the browser only`);
};

/** Grey pictures of 1, 2 or 4 bits come packed, each row beginning at a byte; all others as they are. */
function unpackBits(decoded: DecodedPng): ArrayLike<number> {
  const { width, height, depth, data } = decoded;
  if (depth >= 8) return data;
  const perByte = 8 / depth;
  const rowBytes = Math.ceil(width / perByte);
  return Uint8Array.from({ length: width * height }, (_, at) => {
    const x = at % width;
    const byte = data[Math.floor(at / width) * rowBytes + Math.floor(x / perByte)] as number;
    return (byte >> (8 - depth * ((x % perByte) + 1))) & (2 ** depth - 1);
  });
}
