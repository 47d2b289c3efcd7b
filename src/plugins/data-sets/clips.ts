/** Data sets of clips in their published layouts: a row for each expression whose masks are public. */
import { isRecord } from "../../engine/bytes/json.ts";
import type { ByteSource } from "../../engine/bytes/source.ts";
import {
  column,
  has,
  listOf,
  type ReadContext,
  type Reader,
  type ReadTable,
  RUNS,
  remembered,
  TEXT,
} from "../../engine/data/readers/reader.ts";
import { type Cell, type Table, valueMeter } from "../../engine/data/tables/table.ts";
import { MAX_STRIP } from "../clips/clip-row.ts";
import { type Clip, type ClipExpression, clipsOfFile } from "./clip-set.ts";
import { clipSize } from "./frame-picture.ts";

/** Number of rows whose masks are cached, because the columns of a row are read one after the other. */
const KEPT = 4;

/** Kinds of files in the order of trial. */
export const CLIPS: readonly Reader[] = [
  {
    label: "clip-expressions",
    what: "expressions of clips (Ref-YouTube-VOS, MeViS, ReVOS, Ref-DAVIS17, Ref-SAV)",
    recognise: ({ values }) => {
      const videos = values.find(({ key }) => key === "videos")?.value;
      const first = isRecord(videos) ? Object.values(videos)[0] : undefined;
      return has(first, "expressions", "frames") ? "videos with expressions and frames" : undefined;
    },
    open: openExpressions,
  },
  {
    label: "clip-masks",
    what: "masks of clips, one per frame",
    recognise: ({ shape, values }) =>
      shape === "object" &&
      values.length > 0 &&
      values.some(({ item }) => has(item, "size", "counts")) &&
      values.every(({ item }) => item === null || has(item, "size", "counts"))
        ? "ids with lists of run-length masks"
        : undefined,
    open: "its masks belong to the clips of meta_expressions.json",
  },
];

async function openExpressions({ folder, path, records }: ReadContext): Promise<ReadTable> {
  const { clips, left: found } = await clipsOfFile(folder, path);
  const rows: { readonly clip: Clip; readonly expression: ClipExpression }[] = [];
  let hidden = 0;
  for (const clip of clips) {
    for (const expression of clip.expressions) {
      if (expression.truth === undefined) hidden++;
      else rows.push({ clip, expression });
    }
  }
  const of = (row: number) => rows[row] as (typeof rows)[number];
  const places = remembered(KEPT, (row) => framesOf(of(row).clip.frames));
  const masks = remembered(KEPT, async (row) => (await of(row).expression.truth?.()) ?? []);
  const reason = `${hidden} expressions were left out: their masks are not public`;
  const left = hidden === 0 ? found : [...found, { reason, lost: hidden }];
  const table: Table = {
    columns: [column("frames", listOf(TEXT)), column("masks", listOf(RUNS)), column("caption", TEXT)],
    rows: rows.length,
    batches: 1,
    problem: records.problem,
    cell: async (at, row, pass) => {
      const { clip, expression } = of(row);
      if (at === 2) return expression.text;
      const taken = await places(row);
      const cell =
        at === 0
          ? taken.map((frame) => clip.frames[frame]?.name ?? "")
          : await masks(row).then((all) => taken.map((frame) => all[frame] ?? null));
      valueMeter(pass).take(JSON.stringify(cell).length);
      return cell as unknown as Cell;
    },
  };
  return { table, left };
}

/**
 * Every frame, or every k-th if all frames together have more pixels than a row may have.
 * @throws LabError naming the file
 */
export async function framesOf(frames: readonly ByteSource[]): Promise<number[]> {
  const [height, width] = await clipSize(frames.slice(0, 1));
  const most = Math.max(1, Math.floor(MAX_STRIP / (height * width)));
  const every = Math.ceil(frames.length / most);
  return [...frames.keys()].filter((frame) => frame % every === 0);
}
