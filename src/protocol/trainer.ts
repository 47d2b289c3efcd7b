import type { GpuReport } from "../engine/gpu/runtime/device.ts";
import type { StartAdapter } from "../engine/model/adapter/start-adapter.ts";
import type { Sa2vaModel } from "../engine/model/sa2va.ts";
import type { TrainerEvent } from "../engine/rl/run/events.ts";
import type { StartedRun } from "../engine/session/session.ts";
import type { WireError } from "./rpc.ts";

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
