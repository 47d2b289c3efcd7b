/** Annotations of describe-anything: an object of sample ids with one region or a list of them, pictures in tar shards. */

import { isRecord } from "../../bytes/json.ts";
import { addTo } from "../../bytes/lists.ts";
import type { ByteFolder } from "../../bytes/source.ts";
import { type PictureRow, pictureTable, RUNS } from "./picture-table.ts";
import { has, type Reader } from "./reader.ts";

export const dam: Reader = {
  label: "dam-annotations",
  what: "describe-anything annotations",
  recognise: ({ shape, values }) => {
    const [first] = values;
    const region = first?.item ?? first?.value;
    return shape === "object" && has(region, "mask_rle", "caption")
      ? "sample ids with regions of mask_rle and caption"
      : undefined;
  },
  open: async ({ records, folder, path }) => {
    const pictures = picturesByKey(folder, path);
    const read = async (row: number): Promise<PictureRow> => {
      const value = await records.item(row);
      const key = records.keys[row] ?? "";
      const regions = (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isRecord);
      return {
        image: pictures(key, regions[0]),
        regions: regions.map(({ mask_rle, caption, category }) => ({
          mask: mask_rle ?? null,
          caption: typeof caption === "string" ? caption : "",
          category: typeof category === "string" && category !== "" ? [category] : [],
        })),
      };
    };
    return { table: pictureTable(records.length, RUNS, records.problem, read) };
  },
};

const PICTURE = /^(.*\/|)([^/.]+)\.(jpe?g|png|webp)$/i;

/**
 * Path of a sample's picture: the member of its tar shard (in the nearest directory if several have the name), possibly
 * with other leading zeros; else the path in the source data set, unchanged.
 */
function picturesByKey(
  folder: ByteFolder,
  path: string,
): (key: string, region: Readonly<Record<string, unknown>> | undefined) => string {
  const base = path.slice(0, path.lastIndexOf("/") + 1);
  const byKey = new Map<string, string[]>();
  // Exact names come first.
  for (const keyOf of [String, unpadded]) {
    for (const file of folder.paths) {
      const name = PICTURE.exec(file)?.[2];
      if (name === undefined || !file.startsWith(base)) continue;
      addTo(byKey, keyOf(name), file);
    }
  }
  return (key, region) => {
    const found = byKey.get(key) ?? byKey.get(unpadded(key)) ?? [];
    const tar = typeof region?.tar_file === "string" ? region.tar_file : undefined;
    const own = tar === undefined ? undefined : found.find((file) => `/${file}`.includes(`/${tar}/`));
    const chosen = own ?? found[0];
    if (chosen !== undefined) return chosen.slice(base.length);
    return typeof region?.image === "string" ? region.image : `${key}.jpg`;
  };
}

/** A number without its leading zeros; other names unchanged. */
function unpadded(name: string): string {
  return /^\d+$/.test(name) ? name.replace(/^0+(?=\d)/, "") : name;
}
