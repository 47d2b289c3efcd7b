import type { ImageDecoder, RegionSample, RgbImage } from "../sample.ts";

/**
 * Decoded pictures, the least recently used ones given up first. Two rows of the same picture share one entry, and a
 * picture asked for twice while it is decoded is decoded once.
 * @param maxBytes bytes of pixels kept; a single larger picture is still returned, then dropped
 */
export function pictureCache(
  decoder: ImageDecoder,
  maxBytes: number,
): (sample: Pick<RegionSample, "imageId" | "image">) => Promise<RgbImage> {
  const entries = new Map<string, { readonly picture: Promise<RgbImage>; readonly bytes: number }>();
  return async ({ imageId, image }) => {
    const key = `${imageId} ${image.width}x${image.height} ${image.orientation}`;
    const known = entries.get(key);
    const entry = known ?? { picture: decoder(image), bytes: image.width * image.height * 3 };
    // Re-inserting makes the map a queue from least to most recently used.
    entries.delete(key);
    entries.set(key, entry);
    let bytes = 0;
    for (const { bytes: own } of entries.values()) bytes += own;
    for (const [oldest, { bytes: own }] of entries) {
      if (bytes <= maxBytes) break;
      entries.delete(oldest);
      bytes -= own;
    }
    try {
      return await entry.picture;
    } catch (thrown) {
      if (entries.get(key) === entry) entries.delete(key);
      throw thrown;
    }
  };
}
