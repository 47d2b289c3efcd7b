/** Pictures of questions to the loaded model: a row of the open set, or the user's picture. */
import { sha256Hex } from "../../engine/bytes/hash.ts";
import type { RgbImage } from "../../engine/data/sample.ts";
import { badInput, LabError } from "../../engine/errors.ts";
import type { RowCalls } from "../../protocol/data.ts";
import type { AskedPicture } from "./answer-question.ts";

/**
 * Longest side of the user's pictures: larger ones are scaled down before the model gets them. Regions are in pixels of
 * the scaled picture.
 */
export const MAX_OWN_SIDE = 4096;

/** A row of the open data set, or the user's encoded picture. */
export type TryPicture =
  | { readonly kind: "row"; readonly index: number }
  | { readonly kind: "own"; readonly file: Blob };

/** Fetches or decodes a picture; equal pictures have equal ids. @throws LabError("bad-input") when it cannot be decoded */
export async function tryPicture(picture: TryPicture, { row }: RowCalls): Promise<AskedPicture> {
  if (picture.kind === "row") {
    const { summary, rgb } = await row(picture.index);
    return { id: summary.imageId, rgb, frames: summary.frames };
  }
  const bytes = new Uint8Array(await picture.file.arrayBuffer());
  return { id: `own ${await sha256Hex(bytes)}`, rgb: await decodeOwn(picture.file) };
}

/** Pixels as the browser shows them: rotated by the EXIF orientation, transparency on white. */
async function decodeOwn(file: Blob): Promise<RgbImage> {
  const bitmap = await createImageBitmap(file, { colorSpaceConversion: "none" }).catch((cause: unknown) => {
    throw badInput("This browser cannot decode the picture; the model was not run", undefined, cause);
  });
  try {
    const scale = Math.min(1, MAX_OWN_SIDE / Math.max(bitmap.width, bitmap.height));
    const [width, height] = [Math.round(bitmap.width * scale), Math.round(bitmap.height * scale)];
    const context = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    if (context === null)
      throw new LabError("unsupported", "This browser has no canvas in workers, which decoding needs");
    context.fillStyle = "white";
    context.fillRect(0, 0, width, height);
    context.drawImage(bitmap, 0, 0, width, height);
    const rgba = context.getImageData(0, 0, width, height).data;
    const data = new Uint8Array(width * height * 3);
    for (let pixel = 0; pixel < width * height; pixel++) {
      for (let channel = 0; channel < 3; channel++) data[pixel * 3 + channel] = rgba[pixel * 4 + channel] as number;
    }
    return { width, height, data };
  } finally {
    bitmap.close();
  }
}
