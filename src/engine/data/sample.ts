import type { Rle } from "./mask/rle.ts";

/** One (image, mask, caption) region, from any kind of shard. */
export interface RegionSample {
  /** Stable id: `<shard>#<row>` or `<shard>#<row>/<region>` when a row holds several regions. */
  readonly id: string;
  readonly image: EncodedImage;
  /** All frames of a clip, of which `image` is the first; absent for a picture. */
  readonly frames?: readonly EncodedImage[];
  /**
   * Mask at image size, COCO compressed RLE; never empty in a usable sample. For a clip, the mask of its strip of
   * frames.
   */
  readonly mask: Rle;
  readonly caption: string;
  /** Labels of the row (`catagory`, `category` or `categories`), possibly none. */
  readonly category: readonly string[];
  /** Cache key of the image: a hash of its encoded bytes, so that the same picture in two rows is encoded once. */
  readonly imageId: string;
}

/** The encoded picture of a row; decoding happens on demand. */
export interface EncodedImage {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Detected from the content, never from the name. */
  readonly mime: "image/jpeg" | "image/png" | "image/webp" | "image/bmp" | "image/gif" | "image/tiff";
  /** Pixels, in the orientation that the mask fits. */
  readonly width: number;
  readonly height: number;
  /** EXIF orientation 1..8 to apply so that width x height results; 1 = as stored. */
  readonly orientation: number;
}

/** A question about a region from the row's conversation, with the data's answer. */
export interface QuestionAnswer {
  readonly question: string;
  readonly answer: string;
}

/** Summary of a row in an index; it can be shown without reading the row's picture. */
export interface RegionSummary extends Pick<RegionSample, "id" | "mask" | "caption" | "category" | "imageId"> {
  readonly index: number;
  readonly file: string;
  readonly row: number;
  readonly region: number;
  readonly width: number;
  /** For a clip, the size of all frames below each other. */
  readonly height: number;
  /** Frames of a clip; absent for a picture. */
  readonly frames?: number;
  /** Questions about the region with their answers; absent if the row has none. */
  readonly questions?: readonly QuestionAnswer[];
  /** Set pixels / image pixels, 0..1. */
  readonly maskShare: number;
}

/** A skipped row; never fatal. */
export interface SkippedRow {
  readonly file: string;
  /** Row in the file, or -1 for the whole file. */
  readonly row: number;
  readonly column: string;
  /** One sentence: the cause, with the numbers that prove it. */
  readonly reason: string;
  /** Regions that are missing for this reason, if not one per row; 0 for a remark about a row that is used. */
  readonly lost?: number;
}

/** Regions of a file that were left out before they became rows. */
export type LeftOut = Required<Pick<SkippedRow, "reason" | "lost">>;

/** Regions that are missing according to these entries; those of a file that cannot be read are not known. */
export function lostBy(skipped: readonly SkippedRow[]): number {
  return skipped.reduce((sum, { row, lost }) => sum + (lost ?? (row < 0 ? 0 : 1)), 0);
}

/** RGB pixels, 8 bit, row-major, no alpha: length = width * height * 3. */
export interface RgbImage {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** Decodes a picture to RGB as PIL's convert("RGB") would: no colour management, no premultiplied alpha. */
export type ImageDecoder = (image: EncodedImage) => Promise<RgbImage>;
