/** A table of any size over a file of any container; values are read one by one. */
import type { Column } from "./column-type.ts";
import type { ReadMeter } from "./read-meter.ts";

/** A binary value that has not been read: its length is known, its bytes are fetched on demand. */
export interface BinaryCell {
  readonly length: number;
  /** Bytes [start, end) of the value as a copy, all of them by default. Throws LabError on an invalid range. */
  read(start?: number, end?: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** A value of a table: 64-bit integers are big integers, binary is lazy, structs and lists are plain. */
export type Cell =
  | null
  | boolean
  | number
  | bigint
  | string
  | BinaryCell
  | readonly Cell[]
  | { readonly [key: string]: Cell };

/** Rows of one file, read value by value. */
export interface Table {
  readonly columns: readonly Column[];
  readonly rows: number;
  /** Metadata of the schema, such as the features under `huggingface`. */
  readonly metadata?: ReadonlyMap<string, string>;
  /** Record batches, or row groups. */
  readonly batches: number;
  /** Distance in frames from one frame with a mask to the next in its videos, if the format defines it. */
  readonly every?: number;
  /** Whether the format counts polygons in pixels, as COCO does; otherwise they may be fractions of the picture. */
  readonly inPixels?: true;
  /** One sentence if the file is damaged: the problem and the number of rows kept. */
  readonly problem: string | undefined;
  /**
   * Value of a column (by index in `columns`) at a row of the file.
   * @param pass counts the cost of values in one pass over the file
   * @throws LabError when it is damaged, unsupported or too large
   */
  cell(column: number, row: number, pass?: ReadMeter): Promise<Cell>;
}

/** Whether a cell is a lazy binary value. */
export function isBinaryCell(cell: unknown): cell is BinaryCell {
  return typeof cell === "object" && cell !== null && typeof (cell as { read?: unknown }).read === "function";
}
