/** The pictures of a row for the judge of a suite, given by name. */
import type { EncodedImage, RgbImage } from "../../engine/data/sample.ts";
import { suiteOf } from "./all.ts";
import { judgePictures } from "./judge-pictures.ts";
import type { SuiteItem } from "./suite.ts";

/** A row with its picture. */
interface SeenRow {
  readonly item: SuiteItem;
  readonly image: EncodedImage;
  readonly rgb: RgbImage;
}

/** Data URLs; for suites whose judge reads captions only, the picture with its masks. */
export function rowPictures(suite: string, { item, image, rgb }: SeenRow): readonly string[] {
  return judgePictures(suiteOf(suite)?.judgeSees ?? "masks", image, rgb, item.masks);
}
