/** Page → data worker (shards, pictures, stored runs) and trainer → data worker (rows). */

import type { RegionSummary, RgbImage } from "../engine/data/sample.ts";
import type { SetInfo } from "../engine/data/set-info.ts";
import type { DataMapping } from "../engine/data/tables/mapping.ts";
import type { RowSource } from "../engine/data/training-row.ts";
import type { Board, BoardAsked } from "../engine/eval/leaderboard.ts";
import type { FinishedEvaluation } from "../engine/eval/suites/finished.ts";
import type { EvalFacts } from "../engine/eval/suites/folder.ts";
import type { SuitePart } from "../engine/eval/suites/part.ts";
import type { SuiteReport } from "../engine/eval/suites/report.ts";
import type { SuiteRow } from "../engine/eval/suites/run-suite.ts";
import type { SuiteItem } from "../engine/eval/suites/suite.ts";
import type { RunExport } from "../engine/export/export-names.ts";
import type { RemoteAddress } from "../engine/loading/remote/address.ts";
import type { Asked } from "../engine/loading/remote/listing.ts";
import type { StorageChoice } from "../engine/model/weights/storage-choice.ts";
import type { Alarm } from "../engine/runs/alarms.ts";
import type { BenchGroup } from "../engine/runs/bench/bench-group.ts";
import type { RowDifficulty } from "../engine/runs/difficulty.ts";
import type { StoredEvaluation } from "../engine/runs/evaluations/evaluations.ts";
import type { RunDigest } from "../engine/runs/library/digest.ts";
import type { RunLibrary } from "../engine/runs/library/library.ts";
import type { RunNotes } from "../engine/runs/notes.ts";
import type { StepCosts } from "../engine/runs/phase-lines.ts";
import type { GroupRecord } from "../engine/runs/rollouts/records.ts";
import type { Thumb, Thumbs } from "../engine/runs/rollouts/thumbs.ts";
import type { SplitSettings } from "../engine/runs/run-rows.ts";
import type { StoredFile } from "../engine/storage/store.ts";
import type { VariantResult } from "../engine/sweep/results.ts";
import type { JobState } from "../engine/sweep/run-jobs.ts";
import type { FolderRef } from "./common.ts";

export interface OpeningProgress {
  readonly files: number;
  readonly filesTotal: number;
  readonly rows: number;
  readonly file: string;
}

/** The stored runs, and the bytes of the frozen features of how many pictures. */
export type StoredRuns = Awaited<ReturnType<RunLibrary["list"]>> & {
  readonly features: { readonly bytes: number; readonly pictures: number };
};
export type StoredRun = Awaited<ReturnType<RunLibrary["open"]>>;

/** Rows of a suite as the page gets them. */
export interface OpenSuite {
  readonly items: readonly SuiteItem[];
  readonly leftOut: readonly string[];
  readonly rowsHash: string;
}

/** What stands for a row's id where the picture of a suite's item is asked for. */
export function suitePictureId(index: number): string {
  return `suite ${index}`;
}

/** A sweep of the page. */
export interface StoredSweep {
  /** Name and text of its file. */
  readonly file: string;
  readonly text: string;
  /** Hash of the model and words for the rows that it began with. */
  readonly model: string;
  readonly rows: string;
  /** The run of each job that began, by the job's name. */
  readonly runs: Readonly<Record<string, string>>;
}

/** What the finished jobs of a sweep did to held-out rows, by variant; `curves` is an SVG document. */
export type SweepResults = readonly (Omit<VariantResult, "jobs"> & {
  readonly runs: readonly { readonly seed: number; readonly run: string }[];
  readonly curves: string;
})[];

export interface RemoteCopy {
  readonly bytes: number;
  /** Bytes that it can take, those of a begun copy among them. */
  readonly room: number;
}

export interface DataCalls {
  /** Indexes folders in place of the open set, with a person's corrections if there are any; rows arrive while it runs. A newer call ends the current one. */
  open(
    folders: readonly FolderRef[],
    mapping: DataMapping | null,
    onProgress: (progress: OpeningProgress) => void,
    onRows: (rows: readonly RegionSummary[]) => void,
    signal: AbortSignal,
  ): Promise<SetInfo>;
  /**
   * Picture of an open row, its longer side at most `maxSide` device pixels.
   * @param imageId fails when the row has another picture; null takes the one it has
   * @param frame of a clip; null for all of them below each other
   */
  image(rowId: string, imageId: string | null, maxSide: number, frame: number | null): Promise<ImageBitmap>;
  /** Rows of an evaluation suite in the open files; their pictures go by `suitePictureId`. */
  openSuite(suite: string, split: string | null, part: SuitePart, signal: AbortSignal): Promise<OpenSuite>;
  /** What a judge is shown of a row of the open suite, as data URLs. @throws LabError as pictures do */
  judgePictures(suite: string, index: number): Promise<readonly string[]>;
  /** Opens or continues an evaluation of the open suite; its id and the answers so far. */
  openEvaluation(
    facts: EvalFacts,
  ): Promise<{ readonly id: string; readonly answers: readonly SuiteRow[]; readonly looks: number }>;
  /** Finished evaluations of suites, by name. */
  finishedEvaluations(): Promise<readonly FinishedEvaluation[]>;
  deleteEvaluation(id: string): Promise<void>;
  /** Finished evaluations of the same rows as one table. @throws LabError("bad-input") naming one of other rows */
  ledger(ids: readonly string[], format: "csv" | "parquet"): Promise<Blob>;
  keepAnswers(id: string, rows: readonly SuiteRow[]): Promise<void>;
  keepReport(id: string, report: SuiteReport): Promise<void>;
  /** Number of open rows that a run with these settings trains on. @throws LabError when none is left */
  trainRows(settings: SplitSettings): Promise<number>;
  /** The row's record as JSON text, picture bytes left out. */
  rawRow(rowId: string): Promise<string>;
  /** Makes the runs of a folder served with the page readable; the id of the first, null when there is none. */
  recorded(baseUrl: string): Promise<string | null>;
  /**
   * Makes an exported run readable where its files lie, or adds its steps to the stored run that they continue; its id and
   * whether it is stored, null when the files hold no run.
   * @throws LabError in one sentence when it is damaged, or stored here with other steps
   */
  importRun(folder: FolderRef): Promise<{ readonly id: string; readonly stored: boolean } | null>;
  /**
   * Makes runs readable where they are computed, while they grow; their ids.
   * @param place address of one run's server, or a folder on disk @param token of the server, "" for none
   */
  follow(place: string | FileSystemDirectoryHandle, token: string): Promise<readonly string[]>;
  runs(): Promise<StoredRuns>;
  /** Runs that lie elsewhere and are read-only here: served with the page, dropped, or behind an address. */
  runsElsewhere(): Promise<readonly RunDigest[]>;
  run(runId: string): Promise<StoredRun>;
  runGroups(runId: string, step: number): Promise<readonly GroupRecord[]>;
  /** Held-out evaluations of a run, oldest first. */
  evaluations(runId: string): Promise<readonly StoredEvaluation[]>;
  /** Alarms of a run, oldest first; null for a run of a version that kept none. */
  alarms(runId: string): Promise<readonly Alarm[] | null>;
  /** Costs of the steps of a run by phase, ascending; empty for a run that stored none. */
  costs(runId: string): Promise<readonly StepCosts[]>;
  /** Stored runs by a held-out score, over the same rows. */
  leaderboards(asked: BoardAsked): Promise<readonly Board[]>;
  /** The rows behind a leaderboard as CSV: a column a run. @param hash of its rows */
  boardRows(asked: BoardAsked, hash: string): Promise<Blob>;
  thumbs(runId: string): Promise<Thumbs>;
  /** @param thumb null takes it back */
  setThumb(runId: string, rollout: string, thumb: Thumb | null): Promise<Thumbs>;
  /** The whole run folder, or one of its exports, as one zip. */
  exportRun(
    runId: string,
    format: "zip" | RunExport | "scale-out",
    wordnetUrl: string,
  ): Promise<{ readonly blob: Blob; readonly fileName: string; readonly note: string | null }>;
  /** Where the job of a sweep stands by its run; "new" for a run that was deleted. */
  sweepJob(runId: string): Promise<JobState>;
  /** Where the jobs that began stand, and the results of those that are done; null without any. */
  sweepResults(sweep: StoredSweep): Promise<{
    readonly states: Readonly<Record<string, JobState>>;
    readonly results: SweepResults | null;
  }>;
  /** The sweep as one HTML document; pictures are those of the open rows. */
  sweepReport(sweep: StoredSweep): Promise<Blob>;
  deleteRun(runId: string): Promise<void>;
  renameRun(runId: string, title: string): Promise<void>;
  /** Replaces what is given of the notes of a stored run. */
  setNotes(runId: string, changes: Partial<RunNotes>): Promise<RunNotes>;
  /** Removes the frozen features that runs have kept. */
  deleteFeatures(): Promise<void>;
  /** Rollouts of a file for the reward bench, not yet scored. */
  rollouts(file: Blob, name: string): Promise<readonly BenchGroup[]>;
  /** Sizes of a checkpoint on a server; the page itself connects to no server but its own. @throws LabError as `askRemote` does */
  remote(address: RemoteAddress): Promise<Asked>;
  /** The copy of such a checkpoint that this browser would store; null if it can store none, however much room there is. */
  copyOf(asked: Asked, choice: StorageChoice): Promise<RemoteCopy | null>;
  /** The trainer's port; `RowCalls` are served on it. */
  serveRows(port: MessagePort): void;
  /** Keeps measured rows of the open set, beside and in place of earlier ones. */
  keepDifficulty(rows: readonly RowDifficulty[]): Promise<void>;
  /** Measured rows of the open set; empty if none were measured. */
  difficulty(): Promise<readonly RowDifficulty[]>;
}

export interface RowCalls {
  /** Files of a run that lies elsewhere (dropped, served with the page, behind an address); null for one stored here. */
  filesElsewhere(runId: string): Promise<readonly StoredFile[] | null>;
  /** Bytes [start, end) of such a file. */
  bytesElsewhere(runId: string, path: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>>;
  /** A row of the open set; pixels and mask change hands. */
  row: RowSource;
  /** Picture of an item of the open suite; the pixels change hands. */
  suitePicture(index: number): Promise<{ readonly id: string; readonly rgb: RgbImage }>;
}
