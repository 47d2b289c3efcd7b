/**
 * Data sets of clips: frames in folders, expressions in one JSON, masks as palette PNG or run-length text
 * (docs/spec/video.md#12-data-layouts). Frames and masks are read on demand.
 */

import { isRecord } from "../../engine/bytes/json.ts";
import { type ByteFolder, type ByteSource, directoryOf } from "../../engine/bytes/source.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import { openRecords, type Records } from "../../engine/data/records/records.ts";
import type { LeftOut } from "../../engine/data/sample.ts";
import { byName } from "../../engine/data/shards.ts";
import { withoutArchives } from "../../engine/data/siblings.ts";
import { badInput, LabError, quote } from "../../engine/errors.ts";
import { mountArchives } from "../archives/mount.ts";
import { type ClipTruth, dictionaryTruth, foregroundPixels, paletteTruth } from "./clip-masks.ts";
import { directoryFor, type FrameDirectory, frameDirectories } from "./frame-folders.ts";

/** Maximum frames of a clip; the list of frames of a longer one alone would fill memory. */
const MAX_FRAMES = 100_000;

export interface ClipExpression {
  readonly id: string;
  readonly text: string;
  /** Kind of the expression, if the data set has kinds. */
  readonly type?: number | undefined;
  /**
   * Masks of all frames, empty ones included; undefined if they are not public.
   * @throws LabError naming the file
   */
  readonly truth: (() => Promise<readonly Rle[]>) | undefined;
}

export interface Clip {
  readonly id: string;
  /** In order of time. */
  readonly frames: readonly ByteSource[];
  /** Names of the frames without extension. */
  readonly names: readonly string[];
  readonly expressions: readonly ClipExpression[];
  /** Pixels of all annotated objects of each frame; undefined if the data set does not publish them. */
  readonly foreground?: () => Promise<readonly number[]>;
}

interface ClipSet {
  readonly clips: readonly Clip[];
  /** One sentence for each clip or file that was left out. */
  readonly leftOut: readonly string[];
}

/**
 * The clips of a folder: from meta_expressions.json if there is one, else every folder of pictures is a clip, with one
 * expression per object of its Annotations. Archives are read as folders.
 * @param split name of the split in the data set's folders ("valid_u"); any if absent
 * @throws LabError("bad-input") without clips, or with several splits to choose from
 */
export async function openClips(dropped: ByteFolder, split?: string): Promise<ClipSet> {
  const { folder, problems } = await mountArchives(dropped);
  const metas = metasOf(folder);
  // If the opened folder is that of one split, its paths name no split.
  const named = split === undefined ? metas : metas.filter((path) => (splitOf(path) ?? split) === split);
  if (metas.length > 0 && named.length !== 1) {
    const all = metas.map((path) => splitOf(path) ?? path).join(", ");
    const none = split === undefined || named.length > 0 ? "" : `, none of ${quote(split)}`;
    throw badInput(`The folder has expressions of ${all}${none}; name one split`, "split");
  }
  if (metas.length === 0 && split !== undefined) {
    throw badInput(`The folder has no split ${quote(split)}: it has no file of expressions`, "split");
  }
  const [meta] = named;
  const { clips, left } = meta === undefined ? await plainFolders(folder) : await clipsOfFile(folder, meta);
  const leftOut = [...problems, ...left].map(({ reason }) => reason);
  if (clips.length > 0) return { clips, leftOut };
  throw badInput(`The folder has no clip that can be used: ${leftOut[0] ?? "no folder of numbered pictures"}`);
}

/** Paths of the files of expressions. */
function metasOf(folder: ByteFolder): string[] {
  return folder.paths.filter((path) => /(?:^|\/)meta_expressions[^/]*\.json$/.test(path));
}

/**
 * "meta_expressions/valid/meta_expressions.json", "valid_u/meta_expressions.json", "meta_expressions_valid_.json",
 * "test/meta_expressions_release.json".
 */
function splitOf(path: string): string | undefined {
  const inName = /meta_expressions_(?!release\.)([a-z_]+?)_?\.json$/.exec(path)?.[1];
  const parent = withoutArchives(path).split("/").at(-2);
  return inName ?? (parent === "meta_expressions" ? undefined : parent);
}

/** Clips, and the expressions of those that were left out. */
interface FoundClips extends Pick<ClipSet, "clips"> {
  readonly left: readonly LeftOut[];
}

/** The clips of one file of expressions. @param meta its path @throws LabError("bad-input") when it has no videos */
export async function clipsOfFile(folder: ByteFolder, meta: string): Promise<FoundClips> {
  const records = await openRecords(folder.get(meta) as ByteSource);
  const place = records?.keys.indexOf("videos") ?? -1;
  const videos = place < 0 ? undefined : await records?.inside(place);
  if (videos?.shape !== "object") throw badInput(`${meta} has no object "videos"`, meta);
  const directories = frameDirectories(folder);
  const split = splitOf(meta);
  const masks = await maskDictionary(folder, meta);
  const everything = folder.get(folder.paths.find((path) => /(?:^|\/)mask_dict_foreground\.json$/.test(path)) ?? "");
  // Opened on first use, because the file is large and only evaluations need it.
  let opened: ReturnType<typeof openRecords> | undefined;
  const foreground = async (id: string, frames: number): Promise<number[]> => {
    opened ??= openRecords(everything as ByteSource);
    const records = await opened;
    if (records !== undefined) return foregroundPixels(records, id, frames);
    throw badInput(`${everything?.name} has no masks by clip`);
  };
  const clips: Clip[] = [];
  const pickle = folder.paths.find((path) => /(?:^|\/)mask_dict\.pkl$/.test(path));
  const unread = `${pickle} was not read, because a pickle can contain code; masks are read from PNG or JSON`;
  const left: LeftOut[] = pickle === undefined ? [] : [{ reason: unread, lost: 0 }];
  for await (const [index, value] of videos.each()) {
    const id = videos.keys[index] as string;
    try {
      clips.push(clipOf(id, value, { directories, split, masks, ...(everything === undefined ? {} : { foreground }) }));
    } catch (thrown) {
      if (!(thrown instanceof LabError)) throw thrown;
      const texts = isRecord(value) && isRecord(value.expressions) ? Object.keys(value.expressions).length : 1;
      left.push({ reason: thrown.message, lost: texts });
    }
  }
  return { clips, left };
}

/** mask_dict.json next to the expressions, or else the only one in the folder that is not of another split. */
async function maskDictionary(folder: ByteFolder, meta: string): Promise<Records | undefined> {
  const beside = `${directoryOf(meta)}mask_dict.json`;
  const others = new Set(metasOf(folder).map(splitOf));
  others.delete(splitOf(meta));
  const all = folder.paths.filter(
    (path) =>
      /(?:^|\/)mask_dict\.json$/.test(path) &&
      !withoutArchives(path)
        .split("/")
        .some((part) => others.has(part)),
  );
  const path = all.includes(beside) ? beside : all.length === 1 ? all[0] : undefined;
  return path === undefined ? undefined : await openRecords(folder.get(path) as ByteSource);
}

interface Around {
  readonly directories: ReadonlyMap<string, FrameDirectory>;
  readonly split: string | undefined;
  readonly masks: Records | undefined;
  readonly foreground?: (id: string, frames: number) => Promise<number[]>;
}

function clipOf(id: string, value: unknown, around: Around): Clip {
  const bad = (what: string): LabError => badInput(`Clip ${quote(id)} ${what}; it was left out`);
  if (!isRecord(value) || !Array.isArray(value.frames) || !isRecord(value.expressions)) {
    throw bad("has no frames or no expressions");
  }
  if (!(value.frames as unknown[]).every(isName)) throw bad("has frames whose names are not text");
  const names = (value.frames as unknown[]).map(String).sort(byName);
  if (names.length === 0) throw bad("has no frames");
  if (names.length > MAX_FRAMES) throw bad(`has ${names.length} frames, more than ${MAX_FRAMES}`);
  const twice = names.find((name, at) => name === names[at + 1]);
  if (twice !== undefined) throw bad(`lists frame ${quote(twice)} twice`);
  const pictures = directoryFor(around.directories, id, around.split, "pictures");
  if (pictures === undefined) throw bad("has no folder of pictures");
  const frames = names.map((name) => {
    const source = pictures.get(name);
    if (source === undefined) throw bad(`lists frame ${quote(name)}, which is not there`);
    return source;
  });
  const palettes = directoryFor(around.directories, id, around.split, "annotations");
  const expressions = Object.entries(value.expressions).map(([key, entry]): ClipExpression => {
    if (!isRecord(entry) || typeof entry.exp !== "string") throw bad(`has expression ${quote(key)} without text`);
    const subject = `clip ${quote(id)}, expression ${quote(key)}`;
    const type = typeof entry.type_id === "number" ? entry.type_id : undefined;
    return { id: key, text: entry.exp, type, truth: truthOf(entry, subject, names, frames, palettes, around.masks) };
  });
  const { foreground } = around;
  const clip = { id, frames, names, expressions };
  if (foreground === undefined) return clip;
  return { ...clip, foreground: () => foreground(id, names.length) };
}

/** A name of a frame or object; `String` may throw for other values. */
function isName(value: unknown): boolean {
  return typeof value === "string" || typeof value === "number";
}

function truthOf(
  entry: Readonly<Record<string, unknown>>,
  subject: string,
  names: readonly string[],
  frames: readonly ByteSource[],
  palettes: FrameDirectory | undefined,
  masks: Records | undefined,
): ClipTruth | undefined {
  const list = (value: unknown): string[] => {
    const all: unknown[] = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
    if (all.every(isName)) return all.map(String);
    throw badInput(`The ${subject} names objects that are neither text nor numbers; its clip was left out`);
  };
  if (masks !== undefined && entry.anno_id !== undefined) {
    return dictionaryTruth(masks, list(entry.anno_id), frames, subject);
  }
  if (palettes === undefined) return undefined;
  const objects = list(entry.obj_id).map(Number);
  const wrong = objects.findIndex((object) => !Number.isInteger(object) || object < 1);
  if (wrong >= 0) {
    const named = quote(list(entry.obj_id)[wrong]);
    throw badInput(`The ${subject} names object ${named}, but objects are numbered from 1; its clip was left out`);
  }
  return objects.length === 0 ? undefined : paletteTruth(palettes, names, objects, subject);
}

/**
 * Clips from folders of pictures; objects are the palette entries of the first annotated frame. A clip has the name of
 * its folder, or the whole path where folders share a name.
 */
async function plainFolders(folder: ByteFolder): Promise<FoundClips> {
  const directories = frameDirectories(folder);
  const clips: Clip[] = [];
  const pictures = [...directories].filter(([, { kind }]) => kind === "pictures");
  const nameOf = (path: string): string => path.split("/").at(-1) || "clip";
  const count = new Map<string, number>();
  for (const [path] of pictures) count.set(nameOf(path), (count.get(nameOf(path)) ?? 0) + 1);
  for (const [path, directory] of pictures) {
    const names = directory.names.slice(0, MAX_FRAMES + 1);
    if (names.length > MAX_FRAMES) throw badInput(`${path} has more than ${MAX_FRAMES} frames; nothing was read`);
    const id = count.get(nameOf(path)) === 1 ? nameOf(path) : path;
    const palettes = directoryFor(directories, id, undefined, "annotations");
    const objects = palettes === undefined ? [] : await palettes.objects();
    const expressions = objects.map((object): ClipExpression => {
      const truth = paletteTruth(palettes as FrameDirectory, names, [object], `clip ${quote(id)}, object ${object}`);
      return { id: String(object), text: "", truth };
    });
    clips.push({ id, frames: names.map((name) => directory.get(name) as ByteSource), names, expressions });
  }
  return { clips, left: [] };
}
