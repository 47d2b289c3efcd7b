/** Fetches the picture of a row, its longer side at most `maxSide` device pixels. */
export type PictureSource = (rowId: string, maxSide: number) => Promise<ImageBitmap>;

/** Few sizes, so that a resized window finds what is already there. */
const SIDES = [192, 384, 768, 1536, 3072] as const;
const CAPACITY = 240;

let source: PictureSource | null = null;
const pictures = new Map<string, Promise<ImageBitmap>>();

/** Says where pictures come from; called once when the page starts. */
export function providePictures(from: PictureSource): void {
  source = from;
  pictures.clear();
}

/** Forgets all pictures, because the rows changed. */
export function forgetPictures(): void {
  pictures.clear();
}

/** The smallest kept size that is at least `wanted` device pixels long. */
export function pictureSide(wanted: number): number {
  return SIDES.find((side) => side >= wanted) ?? (SIDES[SIDES.length - 1] as number);
}

/** The picture of a row, fetched once per size; a failed fetch is not remembered. */
export function loadPicture(rowId: string, maxSide: number): Promise<ImageBitmap> {
  const key = `${maxSide} ${rowId}`;
  const known = pictures.get(key);
  if (known !== undefined) {
    pictures.delete(key);
    pictures.set(key, known);
    return known;
  }
  if (source === null) return Promise.reject(new Error("no source of pictures"));
  const picture = source(rowId, maxSide);
  pictures.set(key, picture);
  picture.catch(() => pictures.delete(key));
  const oldest = pictures.keys().next();
  if (pictures.size > CAPACITY && oldest.done !== true) pictures.delete(oldest.value);
  return picture;
}
