/** Subject of a try-out: a picture and the regions marked on it. */
import { type Rle, rleFromBox } from "../../engine/data/mask/rle.ts";
import type { RegionSummary } from "../../engine/data/sample.ts";

export interface TrialPicture {
  /** Key of the picture cache. */
  readonly id: string;
  readonly width: number;
  readonly height: number;
  /** Row of the open data set, or the file name of the user's picture. */
  readonly source: { readonly row: number } | { readonly file: Blob; readonly name: string };
}

export interface Region {
  readonly id: string;
  readonly label: string;
  readonly mask: Rle;
  /** [x, y, width, height] in pixels, for regions that were drawn. */
  readonly box: Box | null;
  readonly on: boolean;
}

export type Box = readonly [x: number, y: number, width: number, height: number];

export function rowPicture(row: RegionSummary): TrialPicture {
  return { id: row.id, width: row.width, height: row.height, source: { row: row.index } };
}

/** The row's region, selected, and the other regions of its picture, not selected. */
export function rowRegions(row: RegionSummary, rows: readonly RegionSummary[]): readonly Region[] {
  const others = rows.filter(({ imageId, id }) => imageId === row.imageId && id !== row.id);
  return [row, ...others].map(({ id, caption, mask }) => ({
    id,
    label: caption === "" ? "Region without a caption" : caption,
    mask,
    box: null,
    on: id === row.id,
  }));
}

/** A drawn box, kept inside the picture and at least a pixel wide. */
export function boxRegion(picture: TrialPicture, box: Box, number: number): Region {
  const [x, y] = [clamp(box[0], 0, picture.width - 1), clamp(box[1], 0, picture.height - 1)];
  const own: Box = [x, y, clamp(box[2], 1, picture.width - x), clamp(box[3], 1, picture.height - y)];
  return {
    id: `box ${number}`,
    label: `Box ${number}`,
    mask: rleFromBox(own, picture.height, picture.width),
    box: own,
    on: true,
  };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(Math.round(Number.isFinite(value) ? value : least), least), most);
}
