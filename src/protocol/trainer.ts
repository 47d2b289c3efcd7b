/**
 * Page ↔ trainer worker: the run. Nothing here carries a tensor; masks travel as COCO RLE text.
 */
import type { LabConfig } from "../engine/config/table.ts";
import type { GpuReport } from "../engine/gpu/runtime/device.ts";
import type { CachedModel } from "../engine/loading/model-cache.ts";
import type { StorageChoice } from "../engine/model/weights/storage-choice.ts";
import type { BenchGroup } from "../engine/rewards/bench/bench-group.ts";
import type { Alarm, Phase, PhaseTimes, RunState, TrainerEvent } from "../engine/rl/run/events.ts";
import type { RunManifest } from "../engine/runs/manifest.ts";
import type { LoopId } from "../engine/runs/records.ts";
import type { SelfCheck } from "../engine/self-test/self-test.ts";
import type { SystemReport } from "../engine/session/memory-report.ts";
import type { PlannedBlock, Plan as RunPlan } from "../engine/session/plan.ts";
import type { TryAnswer, TryPhase, TryTask, TryWeights } from "../engine/session/try-out.ts";
import type { FolderRef, RequestId, WireError } from "./common.ts";

export type ToTrainer =
  /** Sent once, first: lines to the data and reward workers. */
  | { readonly type: "connect"; readonly data: MessagePort; readonly reward: MessagePort }
  | {
      readonly type: "open-model";
      readonly request: RequestId;
      readonly folder: FolderRef;
      readonly choice: StorageChoice;
    }
  /** Asks for, opens or removes conversions of checkpoints that were kept. */
  | { readonly type: "stored-models"; readonly request: RequestId }
  | { readonly type: "open-stored"; readonly request: RequestId; readonly id: string }
  | { readonly type: "remove-stored"; readonly request: RequestId; readonly id: string }
  /** Ends the loading under way, which then fails as cancelled. */
  | { readonly type: "stop-loading" }
  /** Sizes of the trainable set for a configuration, without starting. */
  | { readonly type: "plan"; readonly request: RequestId; readonly config: LabConfig }
  /** What is held on the device, and what it was measured to do. */
  | { readonly type: "system"; readonly request: RequestId }
  /** Small problems with known answers; every check arrives unasked, the answer ends them. */
  | { readonly type: "self-test"; readonly request: RequestId }
  | {
      readonly type: "start";
      readonly request: RequestId;
      readonly config: LabConfig;
      readonly rows: RowSelection;
      readonly title: string;
      readonly now: string;
    }
  | {
      readonly type: "resume";
      readonly request: RequestId;
      readonly runId: string;
      /** Length of the run from now on; as it was when absent. */
      readonly steps?: number;
      readonly rows: RowSelection;
      readonly now: string;
    }
  /** Samples groups of rows for the reward bench; groups arrive one by one, the answer ends them. */
  | {
      readonly type: "bench";
      readonly request: RequestId;
      readonly config: LabConfig;
      readonly indices: readonly number[];
      readonly loops: readonly LoopId[];
    }
  | { readonly type: "bench-stop" }
  /** Reads a PEFT adapter folder that new runs and try-outs start from. */
  | { readonly type: "open-adapter"; readonly request: RequestId; readonly folder: FolderRef }
  | { readonly type: "close-adapter"; readonly request: RequestId }
  /** One question about a picture; progress arrives unasked, the answer ends it. */
  | {
      readonly type: "try-out";
      readonly request: RequestId;
      readonly picture: TryPicture;
      readonly task: TryTask;
      readonly weights: TryWeights;
    }
  | { readonly type: "try-stop" }
  /** Writes a run's policy, folded into the base model, below a folder that the person chose. */
  | {
      readonly type: "merge";
      readonly request: RequestId;
      readonly runId: string;
      readonly base: FolderRef;
      readonly target: FileSystemDirectoryHandle;
    }
  | { readonly type: "pause" }
  | { readonly type: "play" }
  /** Runs exactly one step, then pauses. */
  | { readonly type: "step" }
  /** Runs exactly one phase of the step, then pauses. */
  | { readonly type: "phase" }
  | { readonly type: "checkpoint" }
  | { readonly type: "stop" };

export type { Alarm, Phase, PhaseTimes, RunState, TryAnswer, TryPhase, TryTask, TryWeights };

/** Longer own pictures are made smaller before the model sees them; regions are in pixels of what it sees. */
export const MAX_OWN_SIDE = 4096;

/** A row of the open data set, or an encoded picture of the person's own. */
export type TryPicture =
  | { readonly kind: "row"; readonly index: number }
  | { readonly kind: "own"; readonly file: Blob };

/** An adapter as the page shows it. */
export interface AdapterInfo {
  readonly name: string;
  readonly rank: number;
  /** What the branch is multiplied by. */
  readonly scale: number;
  /** Low-rank factors, and further trained tensors. */
  readonly factors: number;
  readonly modules: number;
}

/** The rows a run draws from; `ids` is in data-set order, the trainer does split and shuffling by seed. */
export interface RowSelection {
  readonly dataSet: string;
  /** (row id, image id) of every usable row, index = the data worker's row index. */
  readonly rows: readonly (readonly [string, string])[];
}

export interface ModelInfo {
  readonly name: string;
  readonly family: string;
  readonly parameters: number;
  readonly bytes: number;
  readonly vocabulary: number;
  readonly visualTokensPerTile: number;
  readonly gpu: GpuReport;
  readonly storage: StorageChoice;
  /** Bytes of its weights on the GPU. */
  readonly heldBytes: number;
  /** Whether its conversion was read from or written to the page's storage, and why not. */
  readonly cached: "read" | "written" | "none";
  readonly note: string | null;
}

export type { CachedModel, PlannedBlock as TrainableBlock, RunPlan, StorageChoice, SystemReport };

export type FromTrainer =
  | { readonly type: "gpu"; readonly report: GpuReport | null; readonly error: WireError | null }
  | {
      readonly type: "model-progress";
      readonly loadedBytes: number;
      readonly totalBytes: number;
      readonly what: string;
    }
  | { readonly type: "model"; readonly request: RequestId; readonly info: ModelInfo }
  | { readonly type: "stored-models"; readonly request: RequestId; readonly models: readonly CachedModel[] }
  /** Reading a model broke off after the old one had been freed: none is loaded now. */
  | { readonly type: "model-closed" }
  | { readonly type: "plan"; readonly request: RequestId; readonly plan: RunPlan }
  | { readonly type: "system"; readonly request: RequestId; readonly report: SystemReport }
  | { readonly type: "self-check"; readonly check: SelfCheck; readonly total: number }
  | { readonly type: "self-tested"; readonly request: RequestId }
  | { readonly type: "adapter"; readonly request: RequestId; readonly info: AdapterInfo | null }
  | { readonly type: "merge-progress"; readonly done: number; readonly total: number }
  /** Largest relative differences between the merged model and base with adapter. */
  | {
      readonly type: "merged";
      readonly request: RequestId;
      readonly folder: string;
      readonly tokens: number;
      readonly masks: number;
      /** Python files that config.json needs and the base lacks. */
      readonly missingCode: readonly string[];
    }
  | { readonly type: "try-phase"; readonly phase: TryPhase }
  | { readonly type: "tried"; readonly request: RequestId; readonly answer: TryAnswer; readonly seconds: number }
  | {
      readonly type: "started";
      readonly request: RequestId;
      readonly manifest: RunManifest;
      readonly resumedAt: number;
      readonly trainRows: number;
      readonly heldOutRows: number;
    }
  | { readonly type: "bench-group"; readonly group: BenchGroup }
  | { readonly type: "bench-done"; readonly request: RequestId }
  | TrainerEvent
  | { readonly type: "failed"; readonly request: RequestId | null; readonly error: WireError };
