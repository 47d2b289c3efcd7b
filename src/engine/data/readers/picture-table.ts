/** A table of pictures with regions, from a reader of records: one row per picture, one caption per region. */
import { Lru, remember } from "../../bytes/lru.ts";
import { LabError } from "../../errors.ts";
import type { Column, ColumnType } from "../tables/column-type.ts";
import { type ReadMeter, valueMeter } from "../tables/read-meter.ts";
import type { Cell, Table } from "../tables/table.ts";

/** A mask with its texts. */
export interface Region {
  /** Mask in any supported form; null if the text refers to nothing in the picture; an error if it cannot be used. */
  readonly mask: unknown;
  readonly caption: string;
  readonly category: readonly string[];
}

export interface PictureRow {
  /** Path of the picture, which is searched next to the file; an error if there is none. */
  readonly image: string | LabError;
  readonly regions: readonly Region[];
}

export const TEXT: ColumnType = { kind: "text", layout: "small" };
const NUMBERS: ColumnType = listOf({ kind: "float", bits: 64 });
/** Column type of masks, for display only; their values decide how they are read. */
export const POLYGONS: ColumnType = listOf(NUMBERS);
export const RUNS: ColumnType = {
  kind: "struct",
  fields: [column("counts", TEXT), column("size", listOf({ kind: "int", bits: 64, signed: true }))],
};

/** The type that an example of a mask suggests. */
export function maskType(example: unknown): ColumnType {
  return Array.isArray(example) || example === undefined ? POLYGONS : RUNS;
}

/** Number of cached rows, so that all columns of a row come from one read. */
const KEPT = 16;

/**
 * The table of these rows.
 * @param read the row at an index; throws LabError when it is damaged
 */
export function pictureTable(
  rows: number,
  masks: ColumnType,
  problem: string | undefined,
  read: (row: number) => Promise<PictureRow>,
): Table {
  const region: ColumnType = {
    kind: "struct",
    fields: [column("mask", masks), column("caption", TEXT), column("category", listOf(TEXT))],
  };
  const columns = [column("image", TEXT), column("regions", listOf(region))];
  const row = remembered(KEPT, read);
  return {
    columns,
    rows,
    batches: 1,
    problem,
    inPixels: true,
    cell: async (at, index, pass) => {
      const { image, regions } = await row(index);
      if (at === 0 && image instanceof LabError) throw image;
      if (at === 0) return image as string;
      const cell = regions as unknown as readonly Cell[];
      takeCost(cell, valueMeter(pass));
      return cell;
    },
  };
}

/** Caches the last results of a function by its argument; after an error it is called again. */
export function remembered<T>(most: number, make: (index: number) => Promise<T>): (index: number) => Promise<T> {
  const kept = new Lru<number, Promise<T>>(most);
  return (index) => remember(kept, index, () => make(index));
}

/** Counts a value against the limit of its file; values of a pickle may share parts endlessly. */
export function takeCost(value: unknown, meter: ReadMeter): void {
  if (typeof value === "string") meter.take(2 * value.length);
  else if (typeof value === "object" && value !== null) {
    const items: unknown[] = Array.isArray(value) ? (value as unknown[]) : Object.values(value);
    meter.take(16 + 8 * items.length);
    for (const item of items) if (typeof item === "string" || typeof item === "object") takeCost(item, meter);
  }
}

export function column(name: string, type: ColumnType): Column {
  return { name, type, nullable: true };
}

export function listOf(item: ColumnType): ColumnType {
  return { kind: "list", item: { name: "item", type: item, nullable: true }, layout: "small" };
}
