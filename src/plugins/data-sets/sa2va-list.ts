/** The fine-tune example of Sa2VA: a list of {image, mask: polygons per object, text: one per object}. */
import { isRecord } from "../../engine/bytes/json.ts";
import { maskOf } from "../../engine/data/readers/coco.ts";
import { has, maskType, type PictureRow, pictureTable, type Reader } from "../../engine/data/readers/reader.ts";
import { badInput } from "../../engine/errors.ts";

export const sa2vaList: Reader = {
  label: "sa2va-finetune",
  what: "fine-tune rows of Sa2VA",
  recognise: ({ first }) =>
    has(first, "image", "mask", "text") && Array.isArray(first.mask) && Array.isArray(first.text)
      ? "records with image, mask and text, both lists"
      : undefined,
  open: async ({ records, sign }) => {
    const read = async (row: number): Promise<PictureRow> => {
      const item = await records.item(row);
      const fields = isRecord(item) ? item : {};
      const masks: unknown[] = Array.isArray(fields.mask) ? fields.mask : [];
      const texts: unknown[] = Array.isArray(fields.text) ? fields.text : [];
      const regions = Array.from({ length: Math.max(masks.length, texts.length) }, (_, at) => {
        const text = texts[at];
        return { mask: maskOf(masks[at]), caption: typeof text === "string" ? text : "", category: [] };
      });
      // A text that is missing in the middle would give those after it to other masks.
      if (masks.length !== texts.length) {
        const counts = `masks (${masks.length}) and texts (${texts.length})`;
        return { image: badInput(`the numbers of ${counts} differ, so no text can be assigned`), regions };
      }
      return { image: typeof fields.image === "string" ? fields.image : "", regions };
    };
    const first = sign.first?.mask;
    const example: unknown = Array.isArray(first) ? first[0] : undefined;
    return { table: pictureTable(records.length, maskType(example), records.problem, read) };
  },
};
