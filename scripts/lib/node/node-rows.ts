/** Shards on disk as the rows of a session, and the files under public/ that every tool uses. */
import { basename, join } from "node:path";
import type { ByteSource } from "../../../src/engine/bytes/source.ts";
import { PRESETS, type PresetName } from "../../../src/engine/config/presets.ts";
import { decodeSample } from "../../../src/engine/data/film-strip.ts";
import { decodeRle } from "../../../src/engine/data/mask/rle.ts";
import { otherCaptions } from "../../../src/engine/data/open-rows.ts";
import { openRegionSet, type RegionSet } from "../../../src/engine/data/region-set.ts";
import type { RowSource } from "../../../src/engine/data/training-row.ts";
import { LabError } from "../../../src/engine/errors.ts";
import { loadWordnet, type Wordnet } from "../../../src/engine/rewards/wordnet.ts";
import { type RowList, rowList } from "../../../src/engine/runs/run-rows.ts";
import { root } from "../ensure.mjs";
import { nodeFolders, nodeSource } from "./node-files.ts";
import { decodeImage } from "./node-images.ts";

export const POCKET_MODEL = join(root, "public", "pocket", "model");

/** The pocket model that a preset trains. */
export function presetModel(preset: PresetName): string {
  const folder = PRESETS.find(({ name }) => name === preset)?.pocketModel;
  return folder === undefined ? POCKET_MODEL : join(root, "public", "pocket", folder);
}

export const POCKET_SHARDS = join(root, "public", "pocket", "shards");

export interface NodeRows {
  readonly set: RegionSet;
  readonly rows: RowSource;
  readonly list: RowList;
}

/**
 * @param shards folders or files; the pocket shards when absent
 * @param split of files that name splits, as refs do; "train" when absent
 */
export async function openNodeRows(shards: readonly string[] = [POCKET_SHARDS], split?: string): Promise<NodeRows> {
  const set = await openRegionSet(await nodeFolders(shards), split === undefined ? {} : { split });
  return {
    set,
    list: rowList(shards.map((path) => basename(path)).join(" + "), set.summaries),
    rows: async (index) => {
      const sample = await set.sample(index);
      const summary = set.summaries[index];
      if (summary === undefined) throw new LabError("internal", `There is no row ${index}`);
      return {
        summary,
        rgb: await decodeSample(sample, decodeImage),
        mask: decodeRle(sample.mask),
        others: otherCaptions(set.summaries, index),
      };
    },
  };
}

/** The WordNet table of METEOR's synonyms. */
export async function nodeWordnet(): Promise<Wordnet> {
  return await loadWordnet(await nodeWordnetFile());
}

/** The same as a file. */
export async function nodeWordnetFile(): Promise<ByteSource> {
  return await nodeSource(join(root, "public", "wordnet", "wordnet30.txt"));
}
