import { PLUGIN_READERS } from "../../plugins/readers.ts";
import type { Pace } from "../bytes/pace.ts";
import { badInput, LabError, quote, toLabError } from "../errors.ts";
import { exchangesOf, type PairFate, readTurns, regionsMeant } from "./captions.ts";
import { type PictureProbe, pathIn, pictureProbes } from "./image/picture.ts";
import { labelText, splitLabels } from "./mask/label-map.ts";
import { bitmapOf, isNumbers, type PictureSize, type SeenLabels, splitMasks } from "./mask/mask-picture.ts";
import { type MaskContext, readMask } from "./mask/mask-read.ts";
import { type Rle, rleArea } from "./mask/rle.ts";
import type { FrameRows } from "./readers/reader.ts";
import { readLabels, rowCaptions, rowParts, turnsOf } from "./row-parts.ts";
import type { RegionSummary, SkippedRow } from "./sample.ts";
import type { FindFile } from "./siblings.ts";
import { type Adapter, isBeside, type Role } from "./tables/schema.ts";
import type { ReadMeter, Table } from "./tables/table.ts";

/** Maximum masks of one row. */
const MAX_MASKS = 4096;

/** A usable (mask, caption) pair of a row. */
interface RowRegion extends Pick<RegionSummary, "region" | "mask" | "caption" | "questions" | "category" | "frames"> {
  /** Foreground pixels. */
  readonly area: number;
  /** The region's picture, with the size in the orientation of the mask. */
  readonly picture: PictureProbe;
  /** Index of the picture in the row. */
  readonly pictureIndex: number;
}

/** Result for a row: its regions, and one sentence per thing that was skipped. */
interface AdaptedRow {
  readonly regions: readonly RowRegion[];
  readonly skipped: readonly Pick<SkippedRow, "column" | "reason" | "lost">[];
  /** Masks in the row, used or not. */
  readonly masks: number;
  /** What became of the questions of a conversation; absent without questions. */
  readonly pairs?: readonly PairFate[];
}

/** @throws LabError("unsupported") when no plug-in reads rows with several frames */
function frameRows(): FrameRows {
  const found = PLUGIN_READERS.find(({ frames }) => frames !== undefined)?.frames;
  if (found !== undefined) return found;
  throw new LabError("unsupported", "the row is a clip, and this build has no plug-in that reads clips");
}

/** Whether an error concerns the whole file or the whole pass, so that reading further rows is useless. */
function endsReading(thrown: unknown): boolean {
  return thrown instanceof LabError && (thrown.code === "storage" || thrown.code === "cancelled");
}

/** Questions that a row cannot answer by itself, so that all rows of its data set decide. */
export interface Doubts {
  /** Whether polygons inside the first pixel are fractions of the picture. @param used whether a region becomes of it */
  fractions(used: boolean): Promise<boolean>;
  /** Whether a picture whose masks fit both ways is turned as EXIF says. @param imageId counts the picture */
  turned(imageId: string): Promise<boolean>;
  /** Number of the first region where texts name regions by number, none of them 0 in the row: 0 or 1. */
  firstRegion(): Promise<number>;
  /** Counts a row whose answers belong to its masks in order. */
  inOrder(): void;
  /** Whether pictures of masks are label maps, in which 255 alone is void. */
  labelMaps(): Promise<boolean>;
}

/** What reading a row needs. */
export interface RowContext {
  /** Finds files next to the shard. */
  readonly find: FindFile;
  /** Counts the work on masks against the limit of a pass over the file. */
  readonly pass?: ReadMeter | undefined;
  /** Reads picture headers; sharing it between rows reads each picture once. */
  readonly probe?: (cell: unknown) => Promise<PictureProbe>;
  /** Counts the work on masks between two turns of the event loop. */
  readonly pace?: Pace | undefined;
  /** Without it, polygons are in pixels, EXIF turns a picture where its masks fit both ways, and regions count from 1. */
  readonly doubts?: Doubts | undefined;
}

/**
 * Reads one row through an adapter. Any error that a row causes, including those of the JavaScript engine, ends in
 * `skipped`.
 * @throws LabError("storage" | "cancelled") only: the file itself can no longer be read, or reading was cancelled
 */
export async function adaptRow(
  table: Table,
  adapter: Adapter,
  row: number,
  { find, pass, probe = pictureProbes(find), pace, doubts }: RowContext,
): Promise<AdaptedRow> {
  const part = rowParts(table, row);
  const skipped: Pick<SkippedRow, "column" | "reason" | "lost">[] = [];
  /** Regions that are lost if the whole row is. */
  let whole = 1;
  const skip = (role: Role, reason: string, lost = 1): void => {
    skipped.push({ column: role.name, reason, ...(lost === 1 ? {} : { lost }) });
  };
  /** Runs a step; an error becomes a skipped part of the row, by default all of it. */
  const step = async <T>(role: Role, body: () => Promise<T>, lost?: number): Promise<T | undefined> => {
    try {
      return await body();
    } catch (thrown) {
      if (endsReading(thrown)) throw thrown;
      skip(role, toLabError(thrown).message, lost ?? whole);
      return undefined;
    }
  };
  const nothing: AdaptedRow = { regions: [], skipped, masks: 0 };

  const maskCell = await step(adapter.mask, async () => {
    const cell = await part(adapter.mask);
    const items = itemsOf(cell, adapter.mask, { height: 0, width: 0 });
    if (items === undefined) throw badInput("the row has no mask (its caption describes the whole picture)");
    if (!adapter.clip) whole = items.length;
    return { cell };
  });
  if (maskCell === undefined) return nothing;
  const { cell } = maskCell;
  const frameMasks = adapter.clip && Array.isArray(cell) ? (cell as unknown[]) : undefined;
  const { every } = adapter;
  let findMask = find;
  const tooMany = ({ length }: readonly unknown[]): boolean => {
    const problem = `the row has ${length} masks, more than the ${MAX_MASKS} allowed`;
    if (length > MAX_MASKS) skip(adapter.mask, problem, adapter.clip ? 1 : length);
    return length > MAX_MASKS;
  };
  if (frameMasks !== undefined && tooMany(frameMasks)) return nothing;
  const pictures = await step(adapter.image, async () => {
    const cell = await part(adapter.image);
    if (every !== undefined) return await frameRows().probes({ cell, every, find }, frameMasks?.length ?? 0);
    const cells = picturesIn(cell, adapter.image);
    findMask = besides(cells, find);
    return await probeAll(cells, probe);
  });
  const first = pictures?.find((picture) => !(picture instanceof LabError));
  if (pictures === undefined || first === undefined) return nothing;
  const stored = frameMasks ?? itemsOf(cell, adapter.mask, first as PictureProbe) ?? [];
  const words = await step(adapter.text, async () => ({ cell: await part(adapter.text) }));
  if (words === undefined) return { ...nothing, masks: stored.length };
  const pixels = (first as PictureProbe).width * (first as PictureProbe).height;
  await pace?.(pixels);
  const items = adapter.clip
    ? stored
    : await step(adapter.mask, () =>
        regionItems(stored, words.cell, {
          ...(first as PictureProbe),
          find: findMask,
          ...(adapter.mask.each ? {} : { cell }),
        }),
      );
  if (items === undefined) return { ...nothing, masks: stored.length };
  const masks = adapter.clip ? 1 : items.length;
  whole = masks;
  if (frameMasks === undefined && tooMany(items)) return nothing;
  const texts = await step(adapter.text, async () =>
    rowCaptions(words.cell, adapter, masks, async () => (await doubts?.firstRegion()) ?? 1),
  );
  if (texts === undefined) {
    const reason = skipped.at(-1)?.reason;
    const became = (): string => `refused: ${reason}`;
    const all = exchangesOf((await step(adapter.text, () => turnsOf(words.cell))) ?? []);
    const refused = all.flatMap(({ question, answer, isAsked }) =>
      isAsked ? [{ question, answer, fate: "refused" as const, became }] : [],
    );
    return { ...nothing, masks, ...(refused.length > 0 ? { pairs: refused } : {}) };
  }
  if (texts.inOrder === true) doubts?.inOrder();
  const asked = texts.pairs === undefined ? {} : { pairs: texts.pairs };
  const silent = adapter.clip
    ? []
    : [...items.keys()].filter(
        (region) => texts.captions[region] === undefined && texts.refused?.[region] === undefined,
      );
  const remark = texts.remark ?? (silent.length > 0 ? withoutText(silent, masks) : undefined);
  if (remark !== undefined) skip(adapter.text, remark, silent.length);
  const { category } = adapter;
  const labelCell = category === undefined ? [] : ((await step(category, () => part(category), 0)) ?? []);
  const parallel = category !== undefined && isBeside(category, adapter.mask);
  const each = Array.isArray(labelCell) && (category?.each === true || (parallel && labelCell.length === masks));
  const labelsIn = async (cell: unknown): Promise<readonly string[]> =>
    category === undefined ? [] : ((await step(category, async () => readLabels(cell), 0)) ?? []);
  const labels = each ? [] : await labelsIn(labelCell);

  if (adapter.clip) {
    const caption = texts.captions[0]?.trim() ?? "";
    const found = await step(adapter.mask, () => frameRows().region(items, pictures, { find: findMask, meter: pass }));
    if (found === undefined) return { ...nothing, masks };
    if (caption === "") {
      skip(adapter.text, "the caption is empty");
      return { ...nothing, masks };
    }
    return { regions: [{ region: 0, caption, category: labels, pictureIndex: 0, ...found }], skipped, masks, ...asked };
  }

  const regions: RowRegion[] = [];
  const pairs = pictures.length === masks && masks > 1;
  const context = { find: findMask, meter: pass, fractions: doubts && (() => doubts.fractions(false)) };
  const faced: (PictureProbe | LabError)[] = [];
  for (const [at, picture] of pictures.entries()) {
    faced.push(await faceOf(picture, pairs ? items.slice(at, at + 1) : items, context, doubts));
  }
  if (pictures.length > 1 && !pairs) {
    skip(
      adapter.image,
      `the row has ${pictures.length} pictures and ${masks === 1 ? "1 mask" : `${masks} masks`}; each mask uses the picture of its size`,
      0,
    );
  }
  for (const [region, item] of items.entries()) {
    const caption = texts.captions[region]?.trim();
    const which = masks === 1 ? "" : ` of region ${region}`;
    const refused = texts.refused?.[region];
    if (refused !== undefined)
      skip(adapter.text, `${refused}${masks === 1 ? "" : `, so mask ${region + 1} is left out`}`);
    if (caption === undefined) continue;
    if (caption === "") {
      skip(adapter.text, `the caption${which} is empty`);
      continue;
    }
    const own = each ? await labelsIn((labelCell as unknown[])[region]) : labels;
    await pace?.(pixels);
    await step(
      adapter.mask,
      async () => {
        const choice = pairs ? [[region, faced[region]] as const] : [...faced.entries()];
        const probes = choice as readonly (readonly [number, PictureProbe | LabError])[];
        let labels: readonly number[] = [];
        const seen: SeenLabels = (map) => {
          labels = map.labels;
        };
        const used = { ...context, seen, fractions: doubts && (() => doubts.fractions(true)) };
        const found = await fitting(item, probes, used, which);
        const area = rleArea(found.mask);
        if (labels.length === 1 && labels[0] === 255 && (await doubts?.labelMaps())) {
          throw badInput(`the label map${which} has only void (255): other masks of the data set have labels`);
        }
        if (labels.length > 1) {
          const [height, width] = found.mask.size;
          const all = `all ${labels.length} labels (${labelText(labels)})`;
          if (area === height * width) {
            throw badInput(`${all} of the label map${which} are the whole picture, so its one text means no region`);
          }
          skip(adapter.mask, `the one text of the label map${which} is used for ${all} together, as one object`, 0);
        }
        if (area === 0) {
          const [height, width] = found.mask.size;
          throw badInput(`the mask${which} is empty (0 of ${height * width} pixels)`);
        }
        if (
          regions.some((one) => one.pictureIndex === found.pictureIndex && one.picture.width !== found.picture.width)
        ) {
          throw badInput("the masks of the row have different sizes");
        }
        const questions = texts.questions?.[region] ?? [];
        regions.push({
          region,
          caption,
          ...(questions.length > 0 ? { questions } : {}),
          category: own,
          area,
          ...found,
        });
      },
      1,
    );
  }
  return { regions, skipped, masks, ...asked };
}

/** Maximum regions that a sentence lists. */
const NAMED = 8;

/** A sentence about the masks that no text is about. */
function withoutText(silent: readonly number[], masks: number): string {
  const list = silent.slice(0, NAMED).join(", ");
  const more = silent.length > NAMED ? ` and ${silent.length - NAMED} more` : "";
  return `of ${masks} masks, no text is about ${silent.length === 1 ? "region" : "regions"} ${list}${more}`;
}

/**
 * Finds the files of masks. If a mask's path leads to a picture of the row, one of the two files is missing and the
 * other was found by its base name.
 */
function besides(pictures: readonly unknown[], find: FindFile): FindFile {
  let taken: ReadonlySet<string | undefined> | undefined;
  return (path) => {
    const found = find(path);
    if (found === undefined) return undefined;
    taken ??= new Set(pictures.flatMap((cell) => pathIn(cell) ?? []).map((picture) => find(picture)?.name));
    if (!taken.has(found.name)) return found;
    if (!`/${found.name}`.endsWith(`/${path}`)) return undefined;
    throw badInput(`the mask ${quote(path, 80)} and the picture are the same file, so one of the two files is missing`);
  };
}

/** Masks of the row, one item each; undefined when there is none. */
function itemsOf(cell: unknown, role: Role, size: PictureSize): unknown[] | undefined {
  if (!role.each) return splitMasks(cell, size);
  return Array.isArray(cell) && cell.length > 0 ? (cell as unknown[]) : undefined;
}

/**
 * The masks of a row. If one picture serves several texts, the masks of its label map. Polygons next to each other are
 * one object, as in COCO, or one object each if there are as many texts.
 * @param cell the whole cell, unless each of its items is a mask
 * @throws LabError("bad-input") if the labels of a map and the texts do not fit
 */
async function regionItems(
  items: readonly unknown[],
  texts: unknown,
  { cell, ...size }: PictureSize & { readonly find: FindFile; readonly cell?: unknown },
): Promise<readonly unknown[]> {
  if (cell !== undefined && items.length > 1 && items.every(isOutline) && textCount(texts) === 1) return [items];
  const several = Array.isArray(texts) && texts.length > 1 && texts.every((text) => typeof text === "string");
  const meant = several ? texts.length : regionsMeant(readTurns(texts) ?? []);
  if (items.length !== 1 || meant < 2) return items;
  const polygons = several ? flatPolygons(items[0], cell, size) : undefined;
  if (polygons?.length === meant) return polygons;
  let masks: (Rle | LabError)[] | string | undefined;
  try {
    masks = await splitLabels(items[0], meant, size);
  } catch (thrown) {
    if (endsReading(thrown)) throw thrown;
    // A damaged mask is reported when it is read as a mask.
  }
  if (typeof masks === "string") throw badInput(masks);
  return masks ?? items;
}

/** A polygon as a list of points. */
function isOutline(value: unknown): boolean {
  return Array.isArray(value) && value.length > 2 && value.every((point) => isNumbers(point) && point.length === 2);
}

/** The polygons of a cell that is a list of them, not of objects; undefined for another cell. */
function flatPolygons(list: unknown, cell: unknown, size: PictureSize): readonly unknown[] | undefined {
  const nested = typeof cell === "string" ? /^\s*(?:\[\s*){3}/.test(cell) : list !== cell;
  if (nested || !Array.isArray(list) || bitmapOf(list, size) !== undefined) return undefined;
  return list.every((part) => isNumbers(part) && part.length >= 6 && part.length % 2 === 0) ? list : undefined;
}

/** Texts for the masks of a row; undefined if they name the masks that they refer to. */
function textCount(texts: unknown): number | undefined {
  const turns = readTurns(texts)?.filter(({ role }) => role === "gpt");
  const all = turns?.length ? turns.map(({ value }) => value) : [texts].flat();
  return all.some((text) => typeof text !== "string" || text.includes("<Prompt")) ? undefined : all.length;
}

/**
 * The header of every picture of a row, or its error.
 * @throws LabError("bad-input") when no picture is usable
 */
async function probeAll(
  cells: readonly unknown[],
  probe: (cell: unknown) => Promise<PictureProbe>,
): Promise<(PictureProbe | LabError)[]> {
  const probes: (PictureProbe | LabError)[] = [];
  for (const one of cells) {
    try {
      probes.push(await probe(one));
    } catch (thrown) {
      if (endsReading(thrown)) throw thrown;
      probes.push(toLabError(thrown));
    }
  }
  const [first] = probes;
  if (first instanceof LabError && probes.every((probe) => probe instanceof LabError)) throw first;
  return probes;
}

/**
 * The encoded pictures of a row; a video is divided into its frames.
 * @throws LabError("bad-input") for too many, or a video that cannot be used; LabError("unsupported") without a decoder
 */
export async function picturesOf(
  cell: unknown,
  { image, every }: Pick<Adapter, "image" | "every">,
  find: FindFile,
): Promise<readonly unknown[]> {
  return every === undefined ? picturesIn(cell, image) : await frameRows().pictures({ cell, every, find });
}

/**
 * The encoded pictures of a row: a list of numbers is one picture, any other list has one picture per item.
 * @throws LabError("bad-input") when there are too many
 */
function picturesIn(cell: unknown, role: Role): readonly unknown[] {
  if (!Array.isArray(cell) || (!role.each && isNumbers(cell) && cell.length > 0)) return [cell];
  if (cell.length === 0) throw badInput("the row has no picture");
  if (cell.length > MAX_MASKS) throw badInput(`the row has ${cell.length} pictures, too many`);
  return cell as unknown[];
}

/**
 * The mask and the picture that it fits.
 * @throws LabError the error of the first picture or of the mask, if none fits; LabError("bad-input") if several different ones do
 */
async function fitting(
  item: unknown,
  pictures: readonly (readonly [number, PictureProbe | LabError])[],
  context: Omit<MaskContext, "height" | "width">,
  which: string,
): Promise<Pick<RowRegion, "mask" | "picture" | "pictureIndex">> {
  let problem: unknown;
  let fit: Pick<RowRegion, "mask" | "picture" | "pictureIndex"> | undefined;
  for (const [pictureIndex, picture] of pictures) {
    if (fit !== undefined) {
      if (picture instanceof LabError || picture.imageId === fit.picture.imageId) continue;
      const { height, width } = fit.picture;
      if (picture.height !== height || picture.width !== width) continue;
      throw badInput(
        `the mask${which} fits several pictures of ${width} x ${height} pixels; a row has one picture, or one per mask`,
      );
    }
    try {
      if (picture instanceof LabError) throw picture;
      const { height, width } = picture;
      const mask = await readMask(item, { height, width, ...context });
      if (mask.size[0] === height && mask.size[1] === width) {
        fit = { mask, picture, pictureIndex };
        continue;
      }
      const sizes = `${mask.size[1]} x ${mask.size[0]} pixels, the picture ${width} x ${height} (width x height)`;
      throw badInput(`the mask${which} is ${sizes}`);
    } catch (thrown) {
      if (endsReading(thrown)) throw thrown;
      problem ??= thrown;
    }
  }
  if (fit === undefined) throw problem;
  return fit;
}

/** The picture as its masks fit it: as stored, or turned as EXIF says; where both fit, its data set decides. */
async function faceOf(
  picture: PictureProbe | LabError,
  items: readonly unknown[],
  context: Omit<MaskContext, "height" | "width">,
  doubts: Doubts | undefined,
): Promise<PictureProbe | LabError> {
  if (picture instanceof LabError || picture.orientation === 1) return picture;
  const turned = (await turnedBy(picture, items, context)) ?? (await doubts?.turned(picture.imageId)) ?? true;
  if (!turned) return { ...picture, orientation: 1 };
  const { width, height, orientation } = picture;
  if (orientation >= 5 && width !== height) return { ...picture, width: height, height: width };
  // Of equal size as stored, and another picture: what was kept of one must not serve the other.
  return { ...picture, imageId: `${picture.imageId}-${orientation}` };
}

/**
 * Whether the masks of a picture fit it turned as EXIF says (true) or as stored (false), by the first that fits only one
 * of both; undefined if all fit both.
 */
async function turnedBy(
  { orientation, width, height }: PictureProbe,
  items: readonly unknown[],
  context: Omit<MaskContext, "height" | "width">,
): Promise<boolean | undefined> {
  if (orientation < 5 || width === height) return undefined;
  /** Pixels of the mask read for a picture of this size, if it has the size; else -1. */
  const areaAt = async (item: unknown, tall: number, wide: number): Promise<number> => {
    try {
      const mask = await readMask(item, { ...context, height: tall, width: wide });
      return mask.size[0] === tall && mask.size[1] === wide ? rleArea(mask) : -1;
    } catch (thrown) {
      if (endsReading(thrown)) throw thrown;
      return -1;
    }
  };
  for (const item of items) {
    // A polygon has no size, but more of it lies inside the picture that it was drawn on.
    const [stored, shown] = [await areaAt(item, height, width), await areaAt(item, width, height)];
    if (stored !== shown) return shown > stored;
  }
  return undefined;
}

/** Whether the masks of a row fit its pictures as EXIF turns them; undefined where EXIF or the masks say nothing. */
export async function rowTurned(
  table: Table,
  adapter: Adapter,
  row: number,
  { find, pass, probe = pictureProbes(find), doubts }: RowContext,
): Promise<boolean | undefined> {
  const part = rowParts(table, row);
  try {
    const cells = picturesIn(await part(adapter.image), adapter.image);
    for (const [at, picture] of (await probeAll(cells, probe)).entries()) {
      if (picture instanceof LabError || picture.orientation < 5 || picture.width === picture.height) continue;
      const items = itemsOf(await part(adapter.mask), adapter.mask, picture) ?? [];
      const own = items.length === cells.length ? items.slice(at, at + 1) : items;
      const fractions = doubts && (() => doubts.fractions(false));
      const turned = await turnedBy(picture, own, { find, meter: pass, fractions });
      if (turned !== undefined) return turned;
    }
  } catch (thrown) {
    // The row is refused with its reason when it is read.
    if (!(thrown instanceof LabError) || endsReading(thrown)) throw thrown;
  }
  return undefined;
}
