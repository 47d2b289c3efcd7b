/** Properties of every row that an index of regions lists, whatever the damage. */
import { decodeRle } from "../../src/engine/data/mask/rle.ts";
import type { RegionSet } from "../../src/engine/data/region-set.ts";
import { check, checkSentence } from "./target.ts";

/**
 * @throws Nonsense when a row has an invalid mask, share, caption, label or picture, or a reason that is no sentence
 */
export async function checkRegions(set: RegionSet): Promise<void> {
  for (const { reason } of [...set.skipped, ...set.ignored]) checkSentence(reason);
  for (const [at, { mask, width, height, maskShare, caption, category }] of set.summaries.entries()) {
    const pixels = decodeRle(mask);
    const area = pixels.reduce((sum, pixel) => sum + pixel, 0);
    check(mask.size[0] === height && mask.size[1] === width, `mask of ${mask.size} for ${height} x ${width}`);
    check(pixels.length === height * width && area > 0, `${area} of ${pixels.length} pixels are set`);
    check(Math.abs(maskShare * pixels.length - area) < 0.5, `a share of ${maskShare} for ${area} pixels`);
    check(typeof caption === "string" && caption.trim() !== "", "a caption is empty");
    check(
      category.every((label) => typeof label === "string"),
      "a label is no text",
    );
    const { image, frames = [image] } = await set.sample(at);
    check(
      frames.every(({ bytes }) => bytes.length > 0),
      "a picture has no bytes",
    );
  }
}
