/** A table of pictures with regions, as readers of records give it: one row a picture, one region a caption. */
import type { Column, ColumnType } from "../column-type.ts";
import { type ReadMeter, valueMeter } from "../read-meter.ts";
import type { Cell, Table } from "../table.ts";

/** A mask with what is said of it. */
export interface Region {
  /** In any form that masks are read in; null where the text speaks of nothing in the picture. */
  readonly mask: unknown;
  readonly caption: string;
  readonly category: readonly string[];
}

/** A row. */
export interface PictureRow {
  /** Path of the picture, found beside the file. */
  readonly image: string;
  readonly regions: readonly Region[];
}

const TEXT: ColumnType = { kind: "text", layout: "small" };
const NUMBERS: ColumnType = listOf({ kind: "float", bits: 64 });
/** How masks are stored, for display: the values decide when they are read. */
export const POLYGONS: ColumnType = listOf(NUMBERS);
export const RUNS: ColumnType = {
  kind: "struct",
  fields: [column("counts", TEXT), column("size", listOf({ kind: "int", bits: 64, signed: true }))],
};

/** The type that a stored mask looks like. */
export function maskType(example: unknown): ColumnType {
  return Array.isArray(example) || example === undefined ? POLYGONS : RUNS;
}

/** Rows kept, so that the columns of one are made from one reading. */
const KEPT = 16;

/**
 * The table of such rows.
 * @param read the row at a place; throws LabError when it is damaged
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
    metadata: new Map(),
    problem,
    cell: async (at, index, pass) => {
      const { image, regions } = await row(index);
      if (at === 0) return image;
      const cell = regions as unknown as readonly Cell[];
      takeCost(cell, valueMeter(pass));
      return cell;
    },
  };
}

/** The last results of a function, by its argument; a failed one is tried again. */
export function remembered<T>(most: number, make: (index: number) => Promise<T>): (index: number) => Promise<T> {
  const kept = new Map<number, Promise<T>>();
  return (index) => {
    const known = kept.get(index);
    if (known !== undefined) return known;
    const made = make(index);
    kept.set(index, made);
    if (kept.size > most) kept.delete(kept.keys().next().value as number);
    made.catch(() => kept.delete(index));
    return made;
  };
}

/** Counts a value against what its file may cost; values of a pickle may share parts without end. */
function takeCost(value: unknown, meter: ReadMeter): void {
  if (typeof value === "string") meter.take(2 * value.length);
  else if (typeof value === "object" && value !== null) {
    const items: unknown[] = Array.isArray(value) ? (value as unknown[]) : Object.values(value);
    meter.take(16 + 8 * items.length);
    for (const item of items) if (typeof item === "string" || typeof item === "object") takeCost(item, meter);
  }
}

function column(name: string, type: ColumnType): Column {
  return { name, type, nullable: true };
}

function listOf(item: ColumnType): ColumnType {
  return { kind: "list", item: { name: "item", type: item, nullable: true }, layout: "small" };
}
