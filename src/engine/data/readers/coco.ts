/** COCO instances, and region captions in COCO form (MDETR), with a caption on the annotation or on the picture. */
import { badInput } from "../../errors.ts";
import { openCoco } from "./coco-file.ts";
import { maskType, pictureTable, type Region } from "./picture-table.ts";
import { firstOf, has, type ReadContext, type Reader, type ReadTable } from "./reader.ts";
import { maskOf } from "./segmentation.ts";

/** Region captions: the picture or annotation has a caption in addition to the mask. */
export const regionCaptions: Reader = {
  label: "region-captions",
  what: "region captions in COCO form",
  recognise: (sign) => {
    const [image, annotation] = [firstOf(sign, "images"), firstOf(sign, "annotations")];
    if (!has(image, "id") || !has(annotation, "segmentation")) return undefined;
    const where = has(annotation, "caption") ? "annotations" : has(image, "caption") ? "images" : undefined;
    return where === undefined ? undefined : `images and annotations with segmentation, captions on the ${where}`;
  },
  open: openRegions,
};

/** Instances: the category is the only text about a mask. */
export const cocoInstances: Reader = {
  label: "coco-instances",
  what: "COCO instances",
  recognise: (sign) =>
    has(firstOf(sign, "images"), "id") && has(firstOf(sign, "annotations"), "image_id", "segmentation")
      ? "images and annotations with segmentation"
      : undefined,
  open: async (context) => {
    const opened = await openRegions(context);
    const note = "it has no captions, so category names replace them; a refs file next to it adds expressions";
    return { ...opened, notes: [note] };
  },
};

async function openRegions({ records, sign }: ReadContext): Promise<ReadTable> {
  const coco = await openCoco(records);
  const rows = [...coco.images].flatMap(([id, image]) => {
    const places = coco.byImage.get(id);
    return places === undefined ? [] : [{ image, places }];
  });
  const read = async (index: number): Promise<{ image: string; regions: Region[] }> => {
    const row = rows[index];
    if (row === undefined) throw badInput(`${records.name} has no picture ${index}`);
    const regions: Region[] = [];
    for (const place of row.places) {
      const annotation = await coco.annotation(place);
      const category = coco.categories.get(String(annotation.category_id));
      const caption = textOf(annotation.caption) ?? row.image.caption ?? category ?? "";
      regions.push({
        mask: maskOf(annotation.segmentation, row.image),
        caption,
        category: category === undefined ? [] : [category],
      });
    }
    return { image: row.image.fileName, regions };
  };
  const type = maskType(firstOf(sign, "annotations")?.segmentation);
  return { table: pictureTable(rows.length, type, coco.problem, read), left: coco.left };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
