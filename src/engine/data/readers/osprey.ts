/** Osprey-724K: a list of pictures with the masks of their regions, and turns or descriptions. */
import { isRecord } from "../../bytes/json.ts";
import { captionsOf, readTurns, type Turn } from "../captions.ts";
import { maskType, type PictureRow, pictureTable, type Region } from "./picture-table.ts";
import { has, type ReadContext, type Reader, type ReadTable } from "./reader.ts";
import { maskOf } from "./segmentation.ts";

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
  const read = async (row: number): Promise<PictureRow> => {
    const item = await records.item(row);
    const fields = isRecord(item) ? item : {};
    const masks = regionsOf(item);
    const captions = captionsFor(fields, masks.length);
    const regions = masks.map(
      (annotation, at): Region => ({
        mask: maskOf(annotation.segmentation, fields),
        caption: captions[at] ?? "",
        category: [],
      }),
    );
    return { image: typeof fields.file_name === "string" ? fields.file_name : "", regions };
  };
  return { table: pictureTable(records.length, maskType(first?.segmentation), records.problem, read) };
}

function regionsOf(item: unknown): Record<string, unknown>[] {
  return isRecord(item) && Array.isArray(item.annotation) ? (item.annotation as unknown[]).filter(isRecord) : [];
}

/**
 * The text of each region. Descriptions belong to the regions in order. In a conversation a region gets the answers
 * about it, marked `<region1>`, with its own tag replaced by words; a single region gets every answer.
 */
function captionsFor(fields: Readonly<Record<string, unknown>>, masks: number): readonly (string | undefined)[] {
  const described = fields.description ?? fields.descriptions;
  if (Array.isArray(described)) {
    return (described as unknown[]).slice(0, masks).map((text) => (typeof text === "string" ? bare(text) : undefined));
  }
  const stored = readTurns(fields.conversations) ?? [];
  // The original drops answers without a preceding question.
  const asked = stored.findIndex(({ role }) => role === "human");
  const turns = stored.slice(Math.max(0, asked));
  // Tags of this data set count from 1; the tags that `captions.ts` reads count from 0.
  const tagged = turns.map(
    ({ role, value }): Turn => ({
      role,
      value: value.replace(/<region(\d+)>/g, (_, n: string) => `<Prompt${Number(n) - 1}>`),
    }),
  );
  if (tagged.some(({ value }) => value.includes("<Prompt"))) {
    const { captions } = captionsOf(tagged, masks);
    return captions.map((text) => (text === undefined ? undefined : bare(text)));
  }
  const answers = turns.filter(({ role }) => role === "gpt").map(({ value }) => bare(value));
  return masks === 1 ? [answers.join(" ")] : answers.slice(0, masks);
}

/** Text without the leading name of its region and without angle brackets, which the original removes. */
function bare(text: string): string {
  return text.replace(/^\s*<region\d+>\s*:?\s*/, "").replace(/[<>]/g, "");
}
