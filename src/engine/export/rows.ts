/** The rows of a run for data exports: training rows, and the ids of held-out rows. */
import type { RegionSet } from "../data/region-set.ts";
import type { RegionSample } from "../data/sample.ts";
import { LabError } from "../errors.ts";
import type { RunManifest } from "../runs/manifest.ts";
import { type RunRows, rowList, type SplitSettings, storedRunRows } from "../runs/run-rows.ts";

export interface ExportRows {
  /** Training rows in the order of the data set, read on demand. */
  train(): AsyncIterable<RegionSample>;
  /** Held-out rows with these ids, read on demand. */
  heldOut(ids: ReadonlySet<string>): AsyncIterable<RegionSample>;
  /** The split, by row ids. */
  readonly split: RowSplit;
}

export interface RowSplit {
  readonly dataSet: string;
  /** SHA-256 over ids and images of all rows, as in run.json. */
  readonly hash: string;
  readonly settings: SplitSettings;
  readonly train: readonly string[];
  /** `selection` and `report` together: never exported for training. */
  readonly heldOut: readonly string[];
  /** Held-out rows that chose the best checkpoint. */
  readonly selection: readonly string[];
  /** Held-out rows of the reported numbers. */
  readonly report: readonly string[];
}

const ENDINGS = { jpeg: "jpg", png: "png", webp: "webp", bmp: "bmp", gif: "gif", tiff: "tif" } as const;

/** File name of a row's stored picture; equal pictures have the same name. */
export function pictureName({ image, imageId }: RegionSample): string {
  return `${imageId}.${ENDINGS[image.mime.slice("image/".length) as keyof typeof ENDINGS]}`;
}

/**
 * @param set the open data set
 * @throws LabError("bad-input") when its rows are not those of the run
 */
export async function exportRows(manifest: RunManifest, set: RegionSet, name: string): Promise<ExportRows> {
  const list = rowList(name, set.summaries);
  const { rows } = list;
  const parts = await storedRunRows(manifest, list);
  const { rowFilter, maxRows, heldOutShare, splitSeed, selectionShare } = manifest.config;
  async function* samples(indices: readonly number[]): AsyncIterable<RegionSample> {
    for (const index of indices) {
      const sample = await set.sample(index);
      if (sample.frames === undefined) yield sample;
      else {
        throw new LabError("unsupported", `${sample.id} is a clip; this export writes pictures only`, {
          subject: sample.id,
        });
      }
    }
  }
  const ids = (part: keyof RunRows): string[] => parts[part].map((index) => (rows[index] as (typeof rows)[number])[0]);
  return {
    split: {
      dataSet: manifest.data.name,
      hash: manifest.data.hash,
      settings: { rowFilter, maxRows, heldOutShare, splitSeed, selectionShare },
      train: ids("train"),
      heldOut: ids("heldOut"),
      selection: ids("selection"),
      report: ids("report"),
    },
    train: () => samples(parts.train),
    heldOut: (wanted) => samples(parts.heldOut.filter((index) => wanted.has(rows[index]?.[0] as string))),
  };
}
