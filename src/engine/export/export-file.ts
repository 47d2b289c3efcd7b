/** What an export is: files generated in pieces while they are written, so that no file is held in memory. */
import type { ByteSource } from "../bytes/source.ts";
import type { RegionSet } from "../data/region-set.ts";
import type { TrainedSide } from "../runs/checkpoint/trained.ts";
import type { PictureOf } from "../runs/rollouts/rollout-picture.ts";
import type { RunFolder } from "../runs/run-folder.ts";
import type { ExportRows } from "./rows.ts";

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
