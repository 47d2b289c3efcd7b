/** What a session computes with, and what it starts and returns. */
import type { LabConfig } from "../../config/table.ts";
import type { RowSource } from "../../data/training-row.ts";
import type { EngineDevice } from "../../gpu/runtime/device.ts";
import type { ModelCache } from "../../loading/model-cache.ts";
import type { OpenedModel } from "../../loading/open-model.ts";
import type { StartAdapter } from "../../model/adapter/start-adapter.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import type { FeatureFiles } from "../../policy/feature-store.ts";
import type { RewardScorer } from "../../rewards/types.ts";
import type { RunManifest } from "../../runs/manifest.ts";
import type { RunFolder } from "../../runs/run-folder.ts";
import type { RowList, RunRows } from "../../runs/run-rows.ts";
import type { RunStore } from "../../storage/store.ts";
import type { TuningTable } from "../../tuning/table.ts";
import type { TrainingState } from "../optim/training-state.ts";
import type { RowOrder } from "../step/data-order.ts";
import type { TrainerEvent } from "./events.ts";

/** What a worker or tool provides, once. */
export interface LabHost {
  readonly device: EngineDevice;
  /** Opens another device after a loss in a run. */
  readonly reopen: () => Promise<EngineDevice>;
  readonly store: RunStore;
  /** Store of checkpoint conversions; none if absent. */
  readonly models?: ModelCache | undefined;
  /** Store of frozen features; none if absent. */
  readonly featureFiles?: FeatureFiles | undefined;
  /** Store of tuning tables; if absent, measured forms are kept in memory only. */
  readonly tables?: RunStore | undefined;
  readonly rows: RowSource;
  readonly scorer: RewardScorer;
  /** Seconds, monotonic. */
  readonly now: () => number;
  readonly emit: (event: TrainerEvent) => void;
}

export interface LoadedModel {
  readonly model: Sa2vaModel;
  /** Hash of its weights; a run of another model is refused. */
  readonly hash: string;
  /** Loads it again on a new device. */
  readonly reload: () => Promise<OpenedModel>;
}

/** The role of an opened adapter: runs and try-outs start from it, or it computes likelihoods as another checkpoint. */
export type AdapterRole = "start" | "captioner";

/** A host with a loaded model. After a lost device there is another one. */
export interface Lab extends LabHost, LoadedModel {
  readonly adapters: Readonly<Partial<Record<AdapterRole, StartAdapter | undefined>>>;
  /** Result of the device's self-test, which runs record; undefined before it. */
  readonly selfTest: RunManifest["selfTest"];
}

/** A run that a trainer can continue. */
export interface Run {
  readonly folder: RunFolder;
  /** Of its next step. */
  readonly config: LabConfig;
  /** Changed by every step; its trainer disposes it. */
  readonly state: TrainingState;
  readonly list: RowList;
  /** Data-set indices of its training and held-out rows. */
  readonly rows: RunRows;
  readonly order: RowOrder;
  readonly doneSteps: number;
  /** The other checkpoint that computes likelihoods; none if absent. */
  readonly captioner?: StartAdapter | undefined;
  /** Measured forms that the run computes with; the built-in ones if absent. */
  readonly table?: TuningTable | undefined;
}

export interface StartedRun {
  readonly manifest: RunManifest;
  readonly resumedAt: number;
  /** Training rows that can be drawn: those of a source with the number 0 cannot. */
  readonly trainRows: number;
  readonly heldOutRows: number;
  /** Settles when the run has finished, stopped or failed. */
  readonly done: Promise<"finished" | "stopped">;
}

/** Commands to the current run. */
export type RunControl = "pause" | "play" | "step" | "phase" | "stop";
