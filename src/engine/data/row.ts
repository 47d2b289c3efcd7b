import { LabError } from "../errors.ts";
import type { ArrowTable } from "./arrow-table.ts";
import { captionsOf, type RowCaptions, readTurns } from "./captions.ts";
import { readMask, splitMasks } from "./masks.ts";
import { type PictureProbe, pictureBytes, probePicture } from "./picture.ts";
import { type Rle, rleArea } from "./rle.ts";
import type { Adapter } from "./schema.ts";

/** A usable (mask, caption) pair of a row. */
export interface RowRegion {
  /** Index of the mask in the row. */
  readonly region: number;
  readonly mask: Rle;
  readonly caption: string;
  /** All labels of the row: which of several masks a label means is not recorded. */
  readonly category: readonly string[];
  /** Foreground pixels. */
  readonly area: number;
}

/** What a row gives: its regions, and one sentence per thing that was left out. */
export interface AdaptedRow {
  readonly regions: readonly RowRegion[];
  readonly skipped: readonly { readonly column: string; readonly reason: string }[];
  /** Set when there are regions: size in the orientation of the masks. */
  readonly picture?: PictureProbe;
  /** Masks in the row, used or not. */
  readonly masks: number;
}

/**
 * Reads one row through an adapter. Content problems end in `skipped`, never in an exception.
 * @throws LabError("storage" | "cancelled" | "internal") only: the file itself can no longer be read
 */
export async function adaptRow(table: ArrowTable, adapter: Adapter, row: number): Promise<AdaptedRow> {
  const name = (column: number): string => table.columns[column]?.name ?? "";
  const skipped: { column: string; reason: string }[] = [];
  let masks = 0;
  /** Runs a step; a content error becomes a skipped part of the row. */
  const step = async <T>(column: number, body: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await body();
    } catch (thrown) {
      if (thrown instanceof LabError && (thrown.code === "bad-input" || thrown.code === "unsupported")) {
        skipped.push({ column: name(column), reason: thrown.message });
        return undefined;
      }
      throw thrown;
    }
  };
  const nothing = (column: number, reason: string): AdaptedRow => {
    skipped.push({ column: name(column), reason });
    return { regions: [], skipped, masks };
  };

  const maskCell = await step(adapter.mask, () => table.cell(adapter.mask, row));
  if (maskCell === undefined) return { regions: [], skipped, masks };
  const items = splitMasks(maskCell);
  if (items === undefined) return nothing(adapter.mask, "the row has no mask (a caption of the whole picture)");
  masks = items.length;

  const textCell = await step(adapter.text, () => table.cell(adapter.text, row));
  const labelCell =
    adapter.category === undefined
      ? null
      : await step(adapter.category, () => table.cell(adapter.category as number, row));
  if (textCell === undefined) return { regions: [], skipped, masks };
  const labels = readLabels(labelCell);
  const texts = readCaptions(textCell, masks);
  if (texts === undefined) return nothing(adapter.text, "the row has no text");
  if (texts.fatal !== undefined) return nothing(adapter.text, texts.fatal);
  if (texts.remark !== undefined) skipped.push({ column: name(adapter.text), reason: texts.remark });
  if (texts.captions.every((caption) => caption === undefined)) return nothing(adapter.text, "the row has no answer");

  const picture = await step(adapter.image, async () =>
    probePicture(pictureBytes(await table.cell(adapter.image, row))),
  );
  if (picture === undefined) return { regions: [], skipped, masks };

  const regions: RowRegion[] = [];
  let seen: PictureProbe | undefined;
  for (const [region, item] of items.entries()) {
    const caption = texts.captions[region]?.trim();
    if (caption === undefined) continue;
    const which = masks === 1 ? "" : ` of region ${region}`;
    if (caption === "") {
      skipped.push({ column: name(adapter.text), reason: `the caption${which} is empty` });
      continue;
    }
    await step(adapter.mask, async () => {
      const mask = await readMask(item, picture.height, picture.width);
      const oriented = orient(picture, mask, which);
      const area = rleArea(mask);
      if (area === 0)
        throw new LabError("bad-input", `the mask${which} is empty (0 of ${mask.size[0] * mask.size[1]} pixels)`);
      if (seen !== undefined && (seen.width !== oriented.width || seen.height !== oriented.height)) {
        throw new LabError("bad-input", `the masks of the row have different sizes`);
      }
      seen = oriented;
      regions.push({ region, mask, caption, category: labels, area });
    });
  }
  return seen === undefined ? { regions, skipped, masks } : { regions, skipped, masks, picture: seen };
}

/**
 * The picture turned so that the mask fits. The stored orientation is taken where it fits (as plain PIL reads it), the
 * EXIF orientation where only that one does.
 */
function orient(picture: PictureProbe, mask: Rle, which: string): PictureProbe {
  const [height, width] = mask.size;
  if (width === picture.width && height === picture.height) return { ...picture, orientation: 1 };
  const turned = picture.orientation >= 5;
  if (turned && width === picture.height && height === picture.width) return { ...picture, width, height };
  throw new LabError(
    "bad-input",
    `the mask${which} is ${width} x ${height} pixels, the picture ${picture.width} x ${picture.height} (width x height)`,
  );
}

function readCaptions(cell: unknown, masks: number): RowCaptions | undefined {
  if (cell === null || cell === undefined) return undefined;
  if (typeof cell === "string") return captionsOf([{ role: "gpt", value: cell }], masks);
  const turns = readTurns(cell);
  if (turns !== undefined && turns.length > 0) return captionsOf(turns, masks);
  if (!Array.isArray(cell) || cell.length === 0) return undefined;
  const texts = (cell as unknown[]).map((value) => ({
    role: "gpt" as const,
    value: typeof value === "string" ? value : "",
  }));
  return captionsOf(texts, masks);
}

function readLabels(cell: unknown): string[] {
  const list: unknown[] = Array.isArray(cell) ? cell : [cell];
  return list.filter((label): label is string => typeof label === "string" && label.trim() !== "");
}
