/** Page ↔ trainer worker: model and run. Messages contain no tensors; masks are sent as COCO RLE text. */
import type { LabConfig } from "../engine/config/table.ts";
import type { GpuReport } from "../engine/gpu/runtime/device.ts";
import type { CachedModel } from "../engine/loading/model-cache.ts";
import type { StartAdapter } from "../engine/model/adapter/start-adapter.ts";
import type { Sa2vaModel } from "../engine/model/sa2va.ts";
import type { StorageChoice } from "../engine/model/weights/storage-choice.ts";
import type { TrainerEvent } from "../engine/rl/run/events.ts";
import type { Fork } from "../engine/runs/library/fork.ts";
import type { DryRun, DryRunPlace } from "../engine/session/dry-run.ts";
import type { SystemReport } from "../engine/session/memory-report.ts";
import type { PlannedRows, Plan as RunPlan } from "../engine/session/plan.ts";
import type { AdapterRole, RunControl, StartedRun } from "../engine/session/session.ts";
import type { FolderRef } from "./common.ts";
import type { WireError } from "./rpc.ts";

export interface TrainerCalls {
  /**
   * Sent once, first: ports to the data and reward workers. Every other call waits until this one has opened the
   * device.
   */
  start(data: MessagePort, reward: MessagePort): void;
  /**
   * Loads a model and replaces the current one.
   * @param fit memory of the GPU in gigabytes, 0 if unknown, and the open rows: a large checkpoint is read in a storage
   * with which a run on them fits there; null reads any in `choice`
   * @throws LabError("cancelled") when the signal aborts
   */
  openModel(
    folder: FolderRef,
    choice: StorageChoice,
    fit: (Omit<PlannedRows, "captions"> & { readonly gigabytes: number }) | null,
    onProgress: OnLoad,
    signal: AbortSignal,
  ): Promise<ModelInfo>;
  /** Stored conversions of checkpoints. */
  storedModels(): Promise<readonly CachedModel[]>;
  openStored(id: string, onProgress: OnLoad, signal: AbortSignal): Promise<ModelInfo>;
  /** @returns the remaining conversions */
  removeStored(id: string): Promise<readonly CachedModel[]>;
  /** Sizes of the trainable set for a configuration, without starting. @param clips whether the open rows are clips */
  plan(config: LabConfig, rows: PlannedRows): Promise<RunPlan>;
  /** Memory held on the device now, and its measured rate; answered even during a step. */
  system(): Promise<SystemReport>;
  /**
   * The GPU's memory in gigabytes, at most 24, found by allocating until it refuses.
   * @throws LabError when the device is in use, LabError("gpu") on a software adapter
   */
  probeMemory(): Promise<number>;
  /** @param now ISO time that the run folder records */
  startRun(config: LabConfig, rows: RowSelection, title: string, now: string): Promise<Started>;
  /**
   * Measures two steps of a run that is not stored; see dry-run.ts.
   * @throws LabError("cancelled") when the signal aborts
   */
  dryRun(
    config: LabConfig,
    rows: RowSelection,
    onPhase: (place: DryRunPlace) => void,
    signal: AbortSignal,
  ): Promise<DryRun>;
  /**
   * @param steps new total length of the run; unchanged by default
   * @param from step of an earlier checkpoint, whose later steps are dropped
   */
  resumeRun(runId: string, rows: RowSelection, steps?: number, from?: number): Promise<Started>;
  /** Continues a copy of a stored run from one of its checkpoints. */
  forkRun(runId: string, rows: RowSelection, fork: Omit<Fork, "id">): Promise<Started>;
  /**
   * Evaluates held-out rows with a checkpoint of a stored run and stores the result in the run.
   * @throws LabError("cancelled") when the signal aborts
   */
  evaluate(
    runId: string,
    rows: RowSelection,
    step: number,
    onRows: (done: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Opens a PEFT adapter folder as the start of new runs and try-outs, or to compute likelihoods; null closes it. */
  openAdapter(folder: FolderRef | null, role: AdapterRole): Promise<AdapterInfo | null>;
  /**
   * Writes a run's policy, merged into the base model, into a subfolder of the folder that the user chose.
   * @throws LabError("cancelled") when the signal aborts before the last tensor is written; nothing is kept then
   */
  merge(
    runId: string,
    base: FolderRef,
    target: FileSystemDirectoryHandle,
    onProgress: (done: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<Merged>;
  /**
   * "step" and "phase" run one step or phase, then pause; "checkpoint" and "evaluate" wait for the end of a step unless
   * the run is paused.
   */
  control(action: RunControl | "checkpoint" | "evaluate"): Promise<void>;
}

/** Trainer → page. */
export interface TrainerHost {
  event(event: TrainerMessage): void;
}

export type TrainerMessage =
  | { readonly type: "gpu"; readonly report: GpuReport | null; readonly error: WireError | null }
  /** Reading a model failed after the old one had been freed, so no model is loaded. */
  | { readonly type: "model-closed" }
  /** An error outside any call. */
  | { readonly type: "failed"; readonly error: WireError }
  | TrainerEvent;

export interface LoadProgress {
  readonly loadedBytes: number;
  readonly totalBytes: number;
  readonly what: string;
}
type OnLoad = (progress: LoadProgress) => void;

export type Started = Omit<StartedRun, "done">;

/** Largest relative differences between the merged model and base with adapter. */
export interface Merged {
  readonly folder: string;
  readonly tokens: number;
  readonly masks: number;
  /** Python files that config.json needs but the base lacks. */
  readonly missingCode: readonly string[];
}

/** An adapter as shown on the page. */
export interface AdapterInfo extends Pick<StartAdapter, "name" | "hash" | "rank" | "scale" | "modules"> {
  /** Number of low-rank factors. */
  readonly factors: number;
}

/** The rows of a run; `ids` is in data-set order, and the trainer splits and shuffles by seed. */
export interface RowSelection {
  readonly dataSet: string;
  /** (row id, image id) of every usable row, index = the data worker's row index. */
  readonly rows: readonly (readonly [string, string])[];
}

export interface ModelInfo extends Pick<Sa2vaModel, "name" | "parameters" | "bytes" | "storage"> {
  /** Hash of its weights. */
  readonly hash: string;
  readonly family: string;
  readonly visualTokensPerTile: number;
  /** Bytes of the model's weights on the GPU. */
  readonly heldBytes: number;
  /** Whether its conversion was read from or written to the page's storage, or why not. */
  readonly cached: "read" | "written" | "none";
  readonly note: string | null;
}
