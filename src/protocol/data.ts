/** Page → data worker (shards, pictures, stored runs) and trainer → data worker (rows). */

import type { RgbImage } from "../engine/data/sample.ts";
import type { RowSource } from "../engine/data/training-row.ts";
import type { StoredFile } from "../engine/storage/store.ts";

export interface OpeningProgress {
  readonly files: number;
  readonly filesTotal: number;
  readonly rows: number;
  readonly totalRows: number;
}

/** Replaces a row's id in a request for the picture of a source that a plug-in opened. */
export function sourcePictureId(source: string, index: number): string {
  return `${source} ${index}`;
}

/** What the data worker serves to the trainer. */
export interface RowCalls {
  /** Files of a run stored elsewhere (dropped, served with the page, at an address); null for one stored here. */
  filesElsewhere(runId: string): Promise<readonly StoredFile[] | null>;
  /** Bytes [start, end) of a file that `filesElsewhere` lists. */
  bytesElsewhere(runId: string, path: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
  /** A row of the open set; pixels and mask are transferred. */
  row: RowSource;
  /**
   * Picture of a source that a plug-in opened; the pixels are transferred.
   * @param source its name
   */
  sourcePicture(source: string, index: number): Promise<{ readonly id: string; readonly rgb: RgbImage }>;
}
