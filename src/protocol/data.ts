/**
 * Page ↔ data worker: shards, pictures and stored runs.
 *
 * Transferred: ImageBitmap of `image`, ArrayBuffers of `sample` on the trainer's port, chunks of `export`.
 * Cloned: everything else (summaries and records are small).
 */
import type { DataCheck } from "../engine/data/check.ts";
import type { RegionSummary, SkippedRow } from "../engine/data/sample.ts";
import type { RunExport } from "../engine/export/export-names.ts";
import type { UnscoredGroup } from "../engine/rewards/bench/bench-group.ts";
import type { Alarm } from "../engine/runs/alarms.ts";
import type { BestCheckpoint } from "../engine/runs/checkpoint/best-checkpoint.ts";
import type { StoredEvaluation } from "../engine/runs/evaluations.ts";
import type { RunManifest } from "../engine/runs/manifest.ts";
import type { GroupRecord, StepMetrics } from "../engine/runs/records.ts";
import type { Thumb, Thumbs } from "../engine/runs/thumbs.ts";
import type { FolderRef, RequestId, WireError } from "./common.ts";

export type ToData =
  | { readonly type: "open"; readonly request: RequestId; readonly folders: readonly FolderRef[] }
  | { readonly type: "cancel-open" }
  /** Picture of a row scaled so that its longer side is at most maxSide device pixels. */
  | {
      readonly type: "image";
      readonly request: RequestId;
      readonly rowId: string;
      /** Refused when the row of that id has another picture; null takes the one it has. */
      readonly imageId: string | null;
      readonly maxSide: number;
    }
  /** Raw record of a row as JSON-able text, picture bytes left out. */
  | { readonly type: "raw-row"; readonly request: RequestId; readonly rowId: string }
  /** A folder of runs served with the page, to be looked at only; answered with the id of its run, if there is one. */
  | { readonly type: "recorded"; readonly request: RequestId; readonly baseUrl: string }
  | { readonly type: "runs"; readonly request: RequestId }
  | { readonly type: "run"; readonly request: RequestId; readonly runId: string }
  | { readonly type: "run-groups"; readonly request: RequestId; readonly runId: string; readonly step: number }
  | { readonly type: "evaluations"; readonly request: RequestId; readonly runId: string }
  | { readonly type: "alarms"; readonly request: RequestId; readonly runId: string }
  | { readonly type: "thumbs"; readonly request: RequestId; readonly runId: string }
  /** A person's verdict on a rollout; null takes it back. */
  | {
      readonly type: "set-thumb";
      readonly request: RequestId;
      readonly runId: string;
      readonly rollout: string;
      readonly thumb: Thumb | null;
    }
  | { readonly type: "delete-run"; readonly request: RequestId; readonly runId: string }
  /** Removes the frozen features of all pictures. */
  | { readonly type: "delete-features"; readonly request: RequestId }
  | { readonly type: "rename-run"; readonly request: RequestId; readonly runId: string; readonly title: string }
  /** Zip of the whole run folder, or of one of its exports; answered by a Blob. */
  | {
      readonly type: "export-run";
      readonly request: RequestId;
      readonly runId: string;
      readonly format: "zip" | RunExport;
    }
  /** Rollouts of a file for the reward bench (runs/import-rollouts.ts). */
  | { readonly type: "rollouts"; readonly request: RequestId; readonly file: Blob; readonly name: string }
  /** Direct line trainer ↔ data for samples (see SampleRequest). */
  | { readonly type: "trainer-port"; readonly port: MessagePort };

export interface DataSetInfo {
  readonly name: string;
  readonly rows: number;
  readonly images: number;
  readonly skipped: readonly SkippedRow[];
  readonly files: readonly ShardInfo[];
  /** Files that were neither shards nor known side files, listed, not fatal. */
  readonly ignored: readonly string[];
  /** Labels that occur, with counts, most frequent first. */
  readonly categories: readonly (readonly [string, number])[];
  /** The checks of the data, the last of them whether they are ready for training. */
  readonly checks: readonly DataCheck[];
}

export interface ShardInfo {
  readonly path: string;
  readonly bytes: number;
  readonly rows: number;
  readonly kept: number;
  readonly adapter: string;
  readonly schema: string;
}

/** A stored run as the list shows it. */
export interface RunSummary {
  readonly manifest: RunManifest;
  readonly steps: number;
  /** Mean reward of each loop over the last ten steps; absent when the loop did not run. */
  readonly rewards: Readonly<Partial<Record<"loop1" | "loop2", number>>>;
  /** Steps with a complete checkpoint, ascending. */
  readonly checkpoints: readonly number[];
  /** The best of them by the selection rows; null when none was evaluated. */
  readonly best: BestCheckpoint | null;
  /** Bytes on disk. */
  readonly bytes: number;
}

export type FromData =
  | {
      readonly type: "progress";
      readonly files: number;
      readonly filesTotal: number;
      readonly rows: number;
      readonly file: string;
    }
  | { readonly type: "rows"; readonly rows: readonly RegionSummary[] }
  | { readonly type: "opened"; readonly request: RequestId; readonly info: DataSetInfo }
  | {
      readonly type: "image";
      readonly request: RequestId;
      readonly bitmap: ImageBitmap;
      readonly width: number;
      readonly height: number;
    }
  | { readonly type: "raw-row"; readonly request: RequestId; readonly text: string }
  | {
      readonly type: "runs";
      readonly request: RequestId;
      readonly runs: readonly RunSummary[];
      readonly usage: number;
      readonly quota: number;
      /** Bytes of frozen features, and of how many pictures. */
      readonly features: { readonly bytes: number; readonly pictures: number };
    }
  | {
      readonly type: "run";
      readonly request: RequestId;
      readonly run: RunSummary;
      readonly metrics: readonly StepMetrics[];
      readonly groupSteps: readonly number[];
    }
  | { readonly type: "run-groups"; readonly request: RequestId; readonly groups: readonly GroupRecord[] }
  | {
      readonly type: "evaluations";
      readonly request: RequestId;
      readonly evaluations: readonly StoredEvaluation[];
    }
  /** Null for a run of a version that kept none. */
  | { readonly type: "alarms"; readonly request: RequestId; readonly alarms: readonly Alarm[] | null }
  | { readonly type: "thumbs"; readonly request: RequestId; readonly thumbs: Thumbs }
  | {
      readonly type: "exported";
      readonly request: RequestId;
      readonly blob: Blob;
      readonly fileName: string;
      readonly note: string | null;
    }
  | { readonly type: "recorded"; readonly request: RequestId; readonly runId: string | null }
  | { readonly type: "rollouts"; readonly request: RequestId; readonly groups: readonly UnscoredGroup[] }
  | { readonly type: "done"; readonly request: RequestId }
  | { readonly type: "failed"; readonly request: RequestId | null; readonly error: WireError };

/** Trainer → data worker over the port. */
export interface SampleRequest {
  readonly request: RequestId;
  readonly index: number;
}

/** Data worker → trainer over the port; the two buffers are transferred. */
export type SampleReply =
  | {
      readonly request: RequestId;
      readonly summary: RegionSummary;
      /** RGB, width·height·3. */
      readonly rgb: ArrayBuffer;
      /** 0/1 per pixel, row-major, height·width. */
      readonly mask: ArrayBuffer;
    }
  | { readonly request: RequestId; readonly error: WireError };
