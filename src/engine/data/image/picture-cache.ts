import { Lru } from "../../bytes/lru.ts";
import { decodeSample } from "../clips/film-strip.ts";
import type { ImageDecoder, RegionSample, RgbImage } from "../sample.ts";

/**
 * LRU cache of decoded pictures. Rows with the same picture share one entry; concurrent requests decode it once.
 * @param maxBytes maximum bytes of pixels; a larger picture is returned but not cached
 */
export function pictureCache(
  decoder: ImageDecoder,
  maxBytes: number,
): (sample: Pick<RegionSample, "imageId" | "image" | "frames">) => Promise<RgbImage> {
  const entries = new Lru<string, { readonly picture: Promise<RgbImage>; readonly bytes: number }>(
    maxBytes,
    ({ bytes }) => bytes,
  );
  return async ({ imageId, image, frames = [image] }) => {
    const key = `${imageId} ${image.width}x${image.height} ${image.orientation}`;
    const entry = entries.get(key, () => ({
      picture: decodeSample({ image, frames }, decoder),
      bytes: frames.length * image.width * image.height * 3,
    }));
    try {
      return await entry.picture;
    } catch (thrown) {
      if (entries.peek(key) === entry) entries.delete(key);
      throw thrown;
    }
  };
}
