/** Osprey-724K: a list of pictures with the masks of their regions, and turns or descriptions. */
import { isRecord } from "../../engine/bytes/json.ts";
import { readTurns } from "../../engine/data/captions.ts";
import { maskOf } from "../../engine/data/readers/coco.ts";
import {
  column,
  has,
  listOf,
  maskType,
  type ReadContext,
  type Reader,
  type ReadTable,
  remembered,
  TEXT,
  takeCost,
} from "../../engine/data/readers/reader.ts";
import { type Cell, type Table, valueMeter } from "../../engine/data/tables/table.ts";
import { marksOf, segTokens } from "../../engine/data/talk/marks.ts";

/** Number of cached rows, so that all columns of a row come from one read. */
const KEPT = 16;

export const osprey: Reader = {
  label: "osprey",
  what: "Osprey regions with conversations or descriptions",
  recognise: ({ first }) => {
    if (!has(first, "file_name", "annotation") || !Array.isArray(first.annotation)) return undefined;
    const text = ["conversations", "description", "descriptions"].find((name) => has(first, name));
    return text === undefined ? undefined : `records with annotation (segmentations) and ${text}`;
  },
  open: openOsprey,
};

async function openOsprey({ records, sign }: ReadContext): Promise<ReadTable> {
  const [first] = regionsOf(sign.first);
  const read = remembered(KEPT, async (row) => {
    const item = await records.item(row);
    return isRecord(item) ? item : {};
  });
  const region = column("mask", maskType(first?.segmentation));
  const turn = { kind: "struct" as const, fields: [column("from", TEXT), column("value", TEXT)] };
  const table: Table = {
    columns: [
      column("image", TEXT),
      column("regions", listOf({ kind: "struct", fields: [region] })),
      column("conversations", listOf(turn)),
    ],
    rows: records.length,
    batches: 1,
    problem: records.problem,
    inPixels: true,
    cell: async (at, row, pass) => {
      const fields = await read(row);
      if (at === 0) return typeof fields.file_name === "string" ? fields.file_name : "";
      const masks = (): unknown[] =>
        regionsOf(fields).map(({ segmentation }) => ({ mask: maskOf(segmentation, fields) }));
      const cell = at === 1 ? masks() : textsOf(fields);
      takeCost(cell, valueMeter(pass));
      return cell as Cell;
    },
  };
  return { table };
}

function regionsOf(item: unknown): Record<string, unknown>[] {
  return isRecord(item) && Array.isArray(item.annotation)
    ? (item.annotation as unknown[]).map((one) => (isRecord(one) ? one : {}))
    : [];
}

/** The descriptions of the regions in order, or the turns about them. */
function textsOf({
  description,
  descriptions = description,
  conversations,
}: Readonly<Record<string, unknown>>): unknown[] {
  if (Array.isArray(descriptions)) {
    return (descriptions as unknown[]).map((text) => (typeof text === "string" ? plain(text) : null));
  }
  return (readTurns(conversations) ?? []).map(({ role, value }) => ({ from: role, value: plain(value) }));
}

/** Text without angle brackets, which the original removes, except those of marks. */
function plain(stored: string): string {
  const text = stored.replace(/<image>/g, "");
  let from = 0;
  const parts: string[] = [];
  for (const { start, end } of [...marksOf(text), ...segTokens(text)].sort((a, b) => a.start - b.start)) {
    parts.push(text.slice(from, start).replace(/[<>]/g, ""), text.slice(start, end));
    from = end;
  }
  return parts.join("") + text.slice(from).replace(/[<>]/g, "");
}
