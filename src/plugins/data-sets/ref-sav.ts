/**
 * Ref-SAV as published: texts for objects of SA-V, whose videos are MP4 at 24 frames per second and whose masklets have
 * a mask for every fourth frame (docs/spec/video.md#12-data-layouts). One row per object.
 */
import { isRecord } from "../../engine/bytes/json.ts";
import type { ByteFolder } from "../../engine/bytes/source.ts";
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
import { openRecords, type Records } from "../../engine/data/records/records.ts";
import { siblingsOf } from "../../engine/data/siblings.ts";
import { type Cell, type Table, valueMeter } from "../../engine/data/tables/table.ts";
import { badInput, quote } from "../../engine/errors.ts";

/** Distance in video frames from one frame with masks to the next. */
const EVERY = 4;
/** Number of cached annotations; the objects of a video are consecutive rows. */
const KEPT = 4;

interface ObjectOf {
  /** Index of its video in the file. */
  readonly video: number;
  /** Its index in a frame's list of masks. */
  readonly object: number;
  readonly caption: string;
}

export const refSav: Reader = {
  label: "ref-sav",
  what: "Ref-SAV texts for objects of SA-V videos",
  recognise: ({ values }) =>
    has(values[0]?.value, "video_path", "anno_path", "objects") ? "video_path, anno_path and objects" : undefined,
  open: openRefSav,
};

async function openRefSav({ records, path, folder }: ReadContext): Promise<ReadTable> {
  const objects: ObjectOf[] = [];
  let lost = 0;
  for await (const [video, value] of records.each()) {
    const texts = isRecord(value) && isRecord(value.objects) ? value.objects : undefined;
    if (texts === undefined) lost++;
    if (texts === undefined) continue;
    for (const [object, entry] of Object.entries(texts)) {
      const caption = isRecord(entry) && typeof entry.formated === "string" ? entry.formated : "";
      objects.push({ video, object: Number(object), caption });
    }
  }
  const paths = remembered(KEPT, async (video) => {
    const item = await records.item(video);
    const { video_path, anno_path } = isRecord(item) ? item : {};
    if (typeof video_path === "string" && typeof anno_path === "string") return { video_path, anno_path };
    throw badInput(`${quote(records.keys[video])} has no video_path or no anno_path`);
  });
  const masklets = remembered(KEPT, async (video) => await maskletOf(folder, path, (await paths(video)).anno_path));
  const masksOf = async ({ video, object }: ObjectOf): Promise<Cell> => {
    const frames = await masklets(video);
    const masks: unknown[] = [];
    for await (const [, frame] of frames.each()) masks.push((Array.isArray(frame) ? (frame as unknown[]) : [])[object]);
    return masks.map((mask) => mask ?? null) as Cell;
  };
  const table: Table = {
    columns: [column("video", TEXT), column("masks", listOf(RUNS)), column("caption", TEXT)],
    rows: objects.length,
    batches: 1,
    problem: records.problem,
    every: EVERY,
    cell: async (at, row, pass) => {
      const object = objects[row] as ObjectOf;
      if (at === 2) return object.caption;
      if (at === 0) return (await paths(object.video)).video_path;
      const masks = await masksOf(object);
      valueMeter(pass).take(JSON.stringify(masks).length);
      return masks;
    },
  };
  const reason = `videos without an object of texts are left out: ${lost}`;
  return { table, left: lost === 0 ? [] : [{ reason, lost }] };
}

/** The frames of an SA-V annotation, each a list with one mask per object. @throws LabError naming the file */
async function maskletOf(folder: ByteFolder, path: string, named: string): Promise<Records> {
  const file = siblingsOf(folder)(path)(named);
  if (file === undefined) throw badInput(`the annotation ${quote(named, 80)} does not exist`);
  const records = await openRecords(file);
  const place = records?.shape === "object" ? records.keys.indexOf("masklet") : -1;
  const frames = place < 0 ? undefined : await records?.inside(place);
  if (frames?.shape === "list") return frames;
  throw badInput(`${file.name} has no list "masklet"`, file.name);
}
