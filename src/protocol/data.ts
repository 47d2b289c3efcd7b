/** Page → data worker (shards, pictures, stored runs) and trainer → data worker (rows). */

import type { RegionSummary, RgbImage } from "../engine/data/sample.ts";
import type { SetInfo } from "../engine/data/set-info.ts";
import type { DataMapping } from "../engine/data/tables/mapping.ts";
import type { RowSource } from "../engine/data/training-row.ts";
import type { RunExport } from "../engine/export/export-names.ts";
import type { Alarm } from "../engine/runs/alarms.ts";
import type { RowDifficulty } from "../engine/runs/difficulty.ts";
import type { StoredEvaluation } from "../engine/runs/evaluations/evaluations.ts";
import type { RunDigest } from "../engine/runs/library/digest.ts";
import type { RunLibrary } from "../engine/runs/library/library.ts";
import type { RunNotes } from "../engine/runs/notes.ts";
import type { GroupRecord } from "../engine/runs/rollouts/records.ts";
import type { SplitSettings } from "../engine/runs/run-rows.ts";
import type { StoredFile } from "../engine/storage/store.ts";
import type { FolderRef } from "./common.ts";

export interface OpeningProgress {
  readonly files: number;
  readonly filesTotal: number;
  readonly rows: number;
  readonly totalRows: number;
}

/** The stored runs, and the frozen features: bytes and number of pictures. */
export type StoredRuns = Awaited<ReturnType<RunLibrary["list"]>> & {
  readonly features: { readonly bytes: number; readonly pictures: number };
};
export type StoredRun = Awaited<ReturnType<RunLibrary["open"]>>;

/** Replaces a row's id in a request for the picture of a source that a plug-in opened. */
export function sourcePictureId(source: string, index: number): string {
  return `${source} ${index}`;
}

export interface DataCalls {
  /**
   * Indexes folders and replaces the open set, with the user's corrections if given; rows arrive while it runs. A newer
   * call ends the current one.
   */
  open(
    folders: readonly FolderRef[],
    mapping: DataMapping | null,
    onProgress: (progress: OpeningProgress) => void,
    onRows: (rows: readonly RegionSummary[]) => void,
    signal: AbortSignal,
  ): Promise<SetInfo>;
  /**
   * Picture of an open row, its longer side at most `maxSide` device pixels.
   * @param imageId expected picture: the call fails if the row has another one; null accepts any
   * @param frame frame of a clip; null for all frames below each other
   */
  image(rowId: string, imageId: string | null, maxSide: number, frame: number | null): Promise<ImageBitmap>;
  /** Number of open rows that a run with these settings trains on. @throws LabError when none is left */
  trainRows(settings: SplitSettings): Promise<number>;
  /** The row's record as JSON text, picture bytes left out. */
  rawRow(rowId: string): Promise<string>;
  /**
   * Opens the runs of a folder that is served with the page. Returns the id of the first one, or null if there is none.
   */
  recorded(baseUrl: string): Promise<string | null>;
  /**
   * Opens an exported run in place, or adds its steps to the stored run that it continues. Returns its id and whether
   * it is stored; null if the files contain no run.
   * @throws LabError when it is damaged, or stored here with other steps
   */
  importRun(folder: FolderRef): Promise<{ readonly id: string; readonly stored: boolean } | null>;
  runs(): Promise<StoredRuns>;
  /** Read-only runs stored elsewhere: served with the page, dropped, or at an address. */
  runsElsewhere(): Promise<readonly RunDigest[]>;
  run(runId: string): Promise<StoredRun>;
  runGroups(runId: string, step: number): Promise<readonly GroupRecord[]>;
  /** Held-out evaluations of a run, oldest first. */
  evaluations(runId: string): Promise<readonly StoredEvaluation[]>;
  /** Alarms of a run, oldest first. */
  alarms(runId: string): Promise<readonly Alarm[]>;
  /**
   * The whole run folder, or one of its exports, as one zip.
   * @param onBytes called with the bytes so far @throws LabError("cancelled") when the signal aborts
   */
  exportRun(
    runId: string,
    format: "zip" | RunExport,
    wordnetUrl: string,
    onBytes: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<{ readonly blob: Blob; readonly fileName: string; readonly note: string | null }>;
  deleteRun(runId: string): Promise<void>;
  renameRun(runId: string, title: string): Promise<void>;
  /** Replaces the given parts of a stored run's notes. */
  setNotes(runId: string, changes: Partial<RunNotes>): Promise<RunNotes>;
  /** Removes the frozen features stored by runs. */
  deleteFeatures(): Promise<void>;
  /** The trainer's port; `RowCalls` are served on it. */
  serveRows(port: MessagePort): void;
  /** Stores measured rows of the open set, adding to or replacing earlier ones. */
  keepDifficulty(rows: readonly RowDifficulty[]): Promise<void>;
  /** Measured rows of the open set; empty if none were measured. */
  difficulty(): Promise<readonly RowDifficulty[]>;
}

export interface RowCalls {
  /** Files of a run stored elsewhere (dropped, served with the page, at an address); null for one stored here. */
  filesElsewhere(runId: string): Promise<readonly StoredFile[] | null>;
  /** Bytes [start, end) of a file that `filesElsewhere` lists. */
  bytesElsewhere(runId: string, path: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
  /** A row of the open set; pixels and mask are transferred. */
  row: RowSource;
  /**
   * Picture of a source that a plug-in opened; the pixels are transferred.
   * @param source its name
   */
  sourcePicture(source: string, index: number): Promise<{ readonly id: string; readonly rgb: RgbImage }>;
}
