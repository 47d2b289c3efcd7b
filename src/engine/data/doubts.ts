/** Decides what single rows leave open, once for all rows of a data set, and says so with counts. */
import { parseJson } from "../bytes/json.ts";
import type { Pace } from "../bytes/pace.ts";
import { LabError } from "../errors.ts";
import { smallestRegion } from "./captions.ts";
import { isLabelMap } from "./mask/label-map.ts";
import { isNumbers, splitMasks } from "./mask/mask-picture.ts";
import { MOST_FRACTION } from "./mask/mask-read.ts";
import { type Doubts, type RowContext, rowTurned } from "./row.ts";
import { rowParts, turnsOf } from "./row-parts.ts";
import type { Adapter, Role } from "./tables/schema.ts";
import { isBinaryCell, passMeter, type Table } from "./tables/table.ts";

/** A table of the data set. */
interface DoubtfulTable extends Required<Pick<RowContext, "find" | "probe">> {
  readonly bytes: number;
  readonly table: Table;
  readonly adapter: Adapter;
}

/** Work of a row besides reading it, in bytes. */
const ROW_WORK = 2 ** 17;
/** Work of a row whose masks are examined, of unknown size. */
const MASK_WORK = 2 ** 22;
/** Pictures that vote on the orientation; later ones are not looked for. */
const MOST_VOTES = 64;

/** The doubts of one data set. */
export interface SetDoubts extends Doubts {
  /** One sentence per decision that was needed. */
  notes(): Promise<string[]>;
}

/**
 * Doubts about the rows of tables that form one data set. A decision reads the tables when the first row needs it, so a
 * data set without doubtful rows is read once.
 * @param pace counts the work of the decisions, which throw LabError("cancelled") as it does
 */
export function doubtsOf(tables: readonly DoubtfulTable[], pace: Pace): SetDoubts {
  let fractions: Promise<boolean> | undefined;
  let votes: Promise<Votes> | undefined;
  const inPixels = tables.some(({ table }) => table.inPixels === true);
  let masks = 0;
  const pictures = new Set<string>();
  let first: Promise<number> | undefined;
  let maps: Promise<boolean> | undefined;
  let [numbered, white, ordered] = [0, 0, 0];
  const doubts: Doubts = {
    fractions: async (used) => {
      if (inPixels) return false;
      if (used) masks++;
      fractions ??= areFractions(tables, pace);
      return fractions;
    },
    turned: async (imageId) => {
      pictures.add(imageId);
      votes ??= countVotes(tables, doubts, pace);
      return isTurned(await votes);
    },
    firstRegion: async () => {
      numbered++;
      first ??= anyRow(tables, Number.POSITIVE_INFINITY, pace, namesZero).then((zero) => (zero ? 0 : 1));
      return first;
    },
    inOrder: () => {
      ordered++;
    },
    labelMaps: async () => {
      white++;
      maps ??= anyRow(tables, EXAMPLES, pace, hasLabels);
      return maps;
    },
  };
  return {
    ...doubts,
    notes: async () => {
      const notes: string[] = [];
      if (votes !== undefined) notes.push(turnNote(pictures.size, await votes));
      if (first !== undefined) {
        const texts = numbered === 1 ? "the texts of 1 row name" : `the texts of ${numbered} rows name`;
        notes.push(`${texts} regions counted from ${await first}, the smallest number in the data set`);
      }
      if (ordered > 0) {
        const rows = ordered === 1 ? "1 row belong to its" : `${ordered} rows belong to their`;
        notes.push(`the answers of ${rows} masks in order, because no text names a mask`);
      }
      if (maps !== undefined) {
        const many = white === 1 ? "1 mask" : `${white} masks`;
        notes.push(
          (await maps)
            ? `255 alone is void in ${many}: other masks of the data set have labels`
            : `255 alone is the object in ${many}: no examined mask of the data set has labels`,
        );
      }
      if (fractions !== undefined && masks > 0) {
        const many = masks === 1 ? "1 mask is polygons" : `${masks} masks are polygons`;
        notes.push(
          (await fractions)
            ? `${many} in fractions of the picture: no coordinate of the data set exceeds ${MOST_FRACTION}`
            : `${many} inside the first pixel, in pixels as the larger polygons of the data set`,
        );
      }
      return notes;
    },
  };
}

/** Number of rows per table whose masks are examined, spread over it. */
const EXAMPLES = 32;

/** Whether any of some rows fits; damaged rows do not. @param rows number of rows of a table, spread over it */
async function anyRow(
  tables: readonly DoubtfulTable[],
  rows: number,
  pace: Pace,
  fits: (table: DoubtfulTable, row: number) => Promise<boolean>,
): Promise<boolean> {
  for (const one of tables) {
    const step = Math.max(1, one.table.rows / rows);
    for (let at = 0; at < one.table.rows; at += step) {
      await pace(rows === EXAMPLES ? MASK_WORK : ROW_WORK);
      try {
        if (await fits(one, Math.floor(at))) return true;
      } catch (thrown) {
        // The row is refused with its reason when it is read.
        if (!(thrown instanceof LabError) || thrown.code === "storage" || thrown.code === "cancelled") throw thrown;
      }
    }
  }
  return false;
}

async function namesZero({ table, adapter }: DoubtfulTable, row: number): Promise<boolean> {
  const cell = await rowParts(table, row)(adapter.text);
  const items: unknown[] = adapter.text.each && Array.isArray(cell) ? cell : [cell];
  for (const item of items) if (smallestRegion((await turnsOf(item)) ?? []) === 0) return true;
  return false;
}

async function hasLabels({ table, adapter, find }: DoubtfulTable, row: number): Promise<boolean> {
  const cell = await rowParts(table, row)(adapter.mask);
  // The size of the row's picture is not known here: rows of numbers give their own.
  const lines = Array.isArray(cell) && cell.every(isNumbers) ? (cell as unknown[][]) : [];
  const size = { height: lines.length, width: lines[0]?.length ?? 0 };
  const items = adapter.mask.each && Array.isArray(cell) ? (cell as unknown[]) : (splitMasks(cell, size) ?? []);
  for (const item of items.slice(0, EXAMPLES)) if (await isLabelMap(item, { ...size, find })) return true;
  return false;
}

interface Votes {
  readonly turned: number;
  readonly stored: number;
}

/** As `datasets` and Pillow's exif_transpose show pictures, unless more masks fit the stored form. */
function isTurned({ turned, stored }: Votes): boolean {
  return turned >= stored;
}

function turnNote(pictures: number, votes: Votes): string {
  const [one, them] = pictures === 1 ? ["1 picture has", "it"] : [`${pictures} pictures have`, "them"];
  const by = (count: number): string =>
    count === 1 ? "by the mask of 1 other picture" : `by the masks of ${count} other pictures`;
  const why = isTurned(votes)
    ? `EXIF turns ${them}, ${votes.turned === 0 ? "as in the library datasets" : by(votes.turned)}`
    : `${them === "it" ? "it stays" : "they stay"} as stored, ${by(votes.stored)}`;
  const against = Math.min(votes.turned, votes.stored);
  return `${one} an EXIF orientation that no size of a mask decides; ${why}${against === 0 ? "" : `, against ${against}`}`;
}

async function countVotes(tables: readonly DoubtfulTable[], doubts: Doubts, pace: Pace): Promise<Votes> {
  let [turned, stored] = [0, 0];
  for (const { bytes, table, adapter, find, probe } of tables) {
    if (adapter.clip) continue;
    const context = { find, probe, doubts, pass: passMeter(bytes) };
    for (let row = 0; row < table.rows && turned + stored < MOST_VOTES; row++) {
      await pace(ROW_WORK);
      const vote = await rowTurned(table, adapter, row, context);
      if (vote === true) turned++;
      else if (vote === false) stored++;
    }
  }
  return { turned, stored };
}

/** Whether no coordinate of a polygon exceeds a fraction, and not all of them are whole. */
async function areFractions(tables: readonly DoubtfulTable[], pace: Pace): Promise<boolean> {
  const seen = { broken: false };
  for (const { table, adapter } of tables) {
    for (let row = 0; row < table.rows; row++) {
      await pace(ROW_WORK);
      const cell = await maskCell(table, adapter.mask, row);
      if (exceeds(cell, seen)) return false;
    }
  }
  return seen.broken;
}

async function maskCell(table: Table, role: Role, row: number): Promise<unknown> {
  try {
    const cell = await rowParts(table, row)(role);
    return typeof cell === "string" && /^\s*[[{]/.test(cell) ? parseJson(cell, "the mask") : cell;
  } catch (thrown) {
    // The row is refused with its reason when it is read.
    if (!(thrown instanceof LabError) || thrown.code === "storage" || thrown.code === "cancelled") throw thrown;
    return undefined;
  }
}

/** Whether a number of polygons exceeds a fraction; `seen` learns of numbers that are not whole. */
function exceeds(value: unknown, seen: { broken: boolean }): boolean {
  if (Array.isArray(value)) return (value as unknown[]).some((item) => exceeds(item, seen));
  if (typeof value === "number" || typeof value === "bigint") {
    if (typeof value === "number" && !Number.isInteger(value)) seen.broken = true;
    return Math.abs(Number(value)) > MOST_FRACTION;
  }
  if (typeof value === "string" && /^\s*\[/.test(value)) {
    try {
      return exceeds(parseJson(value, "the mask"), seen);
    } catch (thrown) {
      if (thrown instanceof LabError) return false;
      throw thrown;
    }
  }
  if (typeof value !== "object" || value === null || isBinaryCell(value)) return false;
  return exceeds((value as { readonly polygons?: unknown }).polygons, seen);
}
