/** Dependencies and results of a session. */
import type { RowSource } from "../../data/training-row.ts";
import type { EngineDevice } from "../../gpu/runtime/device.ts";
import type { ModelCache } from "../../loading/model-cache.ts";
import type { OpenedModel } from "../../loading/open-model.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import type { FeatureFiles } from "../../policy/feature-store.ts";
import type { RewardScorer } from "../../rewards/types.ts";
import type { RunManifest } from "../../runs/manifest.ts";
import type { RunStore } from "../../storage/store.ts";
import type { TrainerEvent } from "./events.ts";

export interface SessionDeps {
  readonly device: EngineDevice;
  /** Opens another device after a loss in a run. */
  readonly reopen: () => Promise<EngineDevice>;
  readonly store: RunStore;
  /** Store of checkpoint conversions; none if absent. */
  readonly models?: ModelCache | undefined;
  /** Store of frozen features; none if absent. */
  readonly features?: FeatureFiles | undefined;
  /** Store of tuning tables; if absent, measured forms are kept in memory only. */
  readonly tables?: RunStore | undefined;
  readonly rows: RowSource;
  readonly scorer: RewardScorer;
  /** Seconds, monotonic. */
  readonly now: () => number;
  readonly emit: (event: TrainerEvent) => void;
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

/** The role of an opened adapter. */
export type AdapterRole = "start" | "captioner";

export interface LoadedModel {
  readonly model: Sa2vaModel;
  readonly hash: string;
  /** Loads it again on a new device. */
  readonly reload: () => Promise<OpenedModel>;
}
