import { Lru, remember } from "../../engine/bytes/collections.ts";

/**
 * Fetches the picture of a row or one frame of a clip, its longer side at most `maxSide` device pixels. Rejects if the row has
 * another picture than `imageId`; null accepts any.
 */
export type PictureSource = (
  rowId: string,
  imageId: string | null,
  maxSide: number,
  frame: number | null,
) => Promise<ImageBitmap>;

/** Few sizes, so that a resized window reuses cached pictures. */
const SIDES = [192, 384, 768, 1536, 3072] as const;
const CAPACITY = 240;
/** Frames of clips around the shown one. */
const FRAME_CAPACITY = 48;

let source: PictureSource | null = null;
const pictures = new Lru<string, Promise<ImageBitmap>>(CAPACITY);
const frames = new Lru<string, Promise<ImageBitmap>>(FRAME_CAPACITY);

/** Sets the source of pictures; called once at page start. */
export function providePictures(from: PictureSource): void {
  source = from;
  forgetPictures();
}

/** Pictures of the user, by a key that replaces the row id; a figure of an older one shows that it is not available. */
const own = new Lru<string, Blob>(8);

/** Stores a picture of the user under a key. */
export function addOwnPicture(id: string, file: Blob): void {
  own.get(id, () => file);
}

async function ownPicture(file: Blob, maxSide: number): Promise<ImageBitmap> {
  const whole = await createImageBitmap(file);
  const scale = Math.min(1, maxSide / Math.max(whole.width, whole.height));
  if (scale === 1) return whole;
  const size = { resizeWidth: Math.round(whole.width * scale), resizeHeight: Math.round(whole.height * scale) };
  const small = await createImageBitmap(whole, { ...size, resizeQuality: "high" });
  whole.close();
  return small;
}

/** Clears the cache after the rows changed. */
export function forgetPictures(): void {
  pictures.clear();
  frames.clear();
}

/** Whether a picture of this many device pixels exceeds the largest fetched size, and would be blurred. */
export function isTooLarge(wanted: number): boolean {
  return wanted > pictureSide(wanted);
}

/** The smallest cached size of at least `wanted` device pixels. */
export function pictureSide(wanted: number): number {
  return SIDES.find((side) => side >= wanted) ?? (SIDES[SIDES.length - 1] as number);
}

/**
 * The picture of a row, fetched once per size; a failed fetch is tried again.
 * @param imageId id of the expected picture; null accepts the picture of the open row
 * @param frame of a clip; null for all of them below each other
 */
export function loadPicture(
  rowId: string,
  imageId: string | null,
  maxSide: number,
  frame: number | null = null,
): Promise<ImageBitmap> {
  return remember(frame === null ? pictures : frames, `${maxSide} ${frame} ${imageId} ${rowId}`, async () => {
    const file = own.peek(rowId);
    if (file !== undefined) return ownPicture(file, maxSide);
    if (source === null) throw new Error("there is no source of pictures");
    return source(rowId, imageId, maxSide, frame);
  });
}
