/** What an export is: files generated in pieces while they are written, so that no file is held in memory. */

import type { ByteSource } from "../bytes/source.ts";
import type { RegionSet } from "../data/region-set.ts";
import type { RegionSample } from "../data/sample.ts";
import { LabError } from "../errors.ts";
import type { TrainedSide } from "../runs/checkpoint/trained.ts";
import type { RunManifest } from "../runs/manifest.ts";
import type { PictureOf } from "../runs/rollouts/rollout-picture.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import { type RunRows, rowList, type SplitSettings, storedRunRows } from "../runs/run-rows.ts";

/** The rows of a run for data exports: training rows, and the ids of held-out rows. */
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

export interface ExportFile {
  /** Relative, "/" separated. */
  readonly path: string;
  /** The content in pieces; can be read once. */
  pieces(): AsyncIterable<Uint8Array<ArrayBuffer>>;
}

/** Files in the order of writing. */
export type ExportFiles = AsyncIterable<ExportFile>;

/** A small file, generated at once. */
export function wholeFile(path: string, content: Uint8Array<ArrayBuffer> | string): ExportFile {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  return {
    path,
    async *pieces() {
      yield bytes;
    },
  };
}

/** The same files below a folder. */
export async function* below(folder: string, files: ExportFiles): ExportFiles {
  for await (const file of files) yield { path: `${folder}/${file.path}`, pieces: () => file.pieces() };
}

/** What an export reads beside the run, and the choices of the user. */
export interface ExportSources {
  /** Checkpoint; the newest when null or absent. */
  readonly step?: number | null;
  /** Weights to export; the policy's if absent, unless the format names them. */
  readonly side?: TrainedSide;
  /** The run's rows, for formats that contain them. */
  readonly rows?: ExportRows | null;
  /** The open data set, whether it is the run's or not. */
  readonly dataSet?: { readonly set: RegionSet; readonly name: string } | null;
  /** Pictures below drawn masks; without them only the masks are drawn. */
  readonly pictureOf?: PictureOf | null;
  /** The WordNet table of METEOR's synonyms. */
  readonly wordnet?: (() => Promise<ByteSource>) | undefined;
  /** Whether the run must be without checkpoints and starts anew; false requires a checkpoint; absent accepts both. */
  readonly fresh?: boolean | undefined;
}

export interface ExportFormat {
  /** The sources that it reads; `npm run export` refuses options for the others. */
  readonly uses: readonly (keyof ExportSources)[];
  /** What the export lacks without these sources, for display; null if nothing. */
  readonly lacks?: (run: RunFolder, sources: ExportSources) => string | null;
  /** The page saves the only file of the export under this ending, not a zip. */
  readonly page?: { readonly ending: string; readonly type: string };
  /** @throws LabError("bad-input") when a source that it needs is missing */
  readonly files: (run: RunFolder, sources: ExportSources) => ExportFiles | Promise<ExportFiles>;
}
