/** COCO panoptic segmentation: pictures whose colours are the ids of segments, and JSON that names their categories. */
import { isRecord } from "../../engine/bytes/json.ts";
import type { ByteSource } from "../../engine/bytes/source.ts";
import { decodePng } from "../../engine/data/image/png-decode.ts";
import { labelRles } from "../../engine/data/mask/label-map.ts";
import { labelsOf } from "../../engine/data/mask/mask-picture.ts";
import type { Rle } from "../../engine/data/mask/rle.ts";
import { idText, namesNote, openCoco, textOf } from "../../engine/data/readers/coco.ts";
import {
  firstOf,
  has,
  type PictureRow,
  pictureTable,
  type ReadContext,
  type Reader,
  type ReadTable,
  type Region,
  RUNS,
} from "../../engine/data/readers/reader.ts";
import { siblingsOf } from "../../engine/data/siblings.ts";
import { badInput, LabError, quote } from "../../engine/errors.ts";

/** Maximum colours of a picture of segments; a picture with more is a photograph. */
const MOST_SEGMENTS = 4096;

export const panoptic: Reader = {
  label: "coco-panoptic",
  what: "COCO panoptic segments",
  recognise: (sign) =>
    has(firstOf(sign, "annotations"), "segments_info", "file_name")
      ? "annotations with file_name and segments_info"
      : undefined,
  open: openPanoptic,
};

async function openPanoptic({ records, folder, path }: ReadContext): Promise<ReadTable> {
  let [named, all] = [0, 0];
  const segmentsIn = ({ segments_info: list }: Readonly<Record<string, unknown>>): unknown[] =>
    Array.isArray(list) ? (list as unknown[]) : [];
  const coco = await openCoco(
    records,
    (annotation) => segmentsIn(annotation).length || 1,
    (annotation) => {
      const segments = segmentsIn(annotation).filter(isRecord);
      all += segments.length;
      named += segments.filter((segment) => textOf(segment) === undefined).length;
    },
  );
  const rows = [...coco.images].flatMap(([id, image]) =>
    (coco.byImage.get(id) ?? []).map((place) => ({ image, place })),
  );
  // Segments are in a folder with the name of the file; a picture that is a PNG has the same name in another folder.
  const own = `${path.slice(path.lastIndexOf("/") + 1).replace(/\.\w+$/, "")}/`;
  const find = siblingsOf(folder)(path);
  const pictures = folder.paths.filter((one) => !`/${one}`.includes(`/${own}`));
  const findPicture = siblingsOf({ ...folder, paths: pictures })(path);
  const read = async (index: number): Promise<PictureRow> => {
    const row = rows[index];
    if (row === undefined) throw badInput(`${records.name} has no picture ${index}`);
    const annotation = await coco.annotation(row.place);
    const { file_name } = annotation;
    const named = typeof file_name === "string" ? file_name : "";
    const source = find(own + named) ?? find(named);
    const image =
      findPicture(row.image.fileName)?.name ?? badInput(`the picture ${quote(row.image.fileName, 80)} does not exist`);
    const masks = await segmentsOf(source, named);
    const regions = segmentsIn(annotation).map((item): Region => {
      const segment = isRecord(item) ? item : {};
      const category = coco.categories.get(idText(segment.category_id));
      return {
        mask: masks instanceof LabError ? masks : (masks.get(colourOf(Number(segment.id))) ?? null),
        caption: textOf(segment) ?? category ?? "",
        category: category === undefined ? [] : [category],
      };
    });
    return { image, regions };
  };
  return { table: pictureTable(rows.length, RUNS, coco.problem, read), notes: namesNote(named, all), left: coco.left };
}

/** The mask of each colour in a picture of segments, or the error that all segments share. */
async function segmentsOf(source: ByteSource | undefined, named: string): Promise<Map<number, Rle> | LabError> {
  if (source === undefined) return badInput(`the segments ${quote(named, 80)} do not exist`);
  try {
    const png = decodePng(await source.read(0, source.size), "segments'");
    const masks = labelRles(labelsOf(png), png.height, png.width, MOST_SEGMENTS);
    return masks ?? badInput(`${quote(named, 80)} has more than ${MOST_SEGMENTS} colours`);
  } catch (thrown) {
    if (thrown instanceof LabError && thrown.code !== "storage") return thrown;
    throw thrown;
  }
}

/** The colour of a segment, red in the upper byte: its id counts red as 1, green as 256 and blue as 65,536. */
function colourOf(id: number): number {
  return ((id & 255) << 16) | (id & 0xff00) | ((id >> 16) & 255);
}
