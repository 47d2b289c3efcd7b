import type { LabConfig } from "../../config/table.ts";
import type { LoraFields } from "../../formats/peft-names.ts";
import type { Json } from "../numbers-json.ts";
import type { StepMetrics } from "../rollouts/records.ts";

export interface TensorData {
  readonly shape: readonly number[];
  /** Row-major elements. */
  readonly data: Float32Array;
}

/** Tensors by full path, e.g. `mlp1.1.weight`, in the order of the trainable set. */
export type TensorMap = ReadonlyMap<string, TensorData>;

/** Everything a run needs to continue from a step as if it had never stopped. */
export interface CheckpointState {
  /** Steps done. */
  readonly step: number;
  /** Trained tensors: `language_model.….lora_A.weight`, `mlp1.….weight`, … */
  readonly params: TensorMap;
  /** Null if the run has no EMA. */
  readonly ema: TensorMap | null;
  /** The synchronised reference; null or absent if it equals the start. */
  readonly reference?: TensorMap | null;
  /** AdamW's first and second moments, by the names of the tensors. */
  readonly moments: { readonly m: TensorMap; readonly v: TensorMap };
  /** AdamW's own step count, the exponent of its bias correction. */
  readonly optimiserStep: number;
  /** Null without adapters. `targets` are the last parts of the layers' names, e.g. "q_proj". */
  readonly lora: LoraFields | null;
  readonly config: LabConfig;
  /** Other state of the trainer: schedule step, data cursor, counters, adaptive coefficients. */
  readonly trainer: Json;
  /** The checkpoint the run started from. */
  readonly baseModel?: { readonly name: string; readonly hash: string };
  /** End of the metric history, for tools that read `log_history`. */
  readonly history?: readonly StepMetrics[];
  /** Best evaluation so far. */
  readonly best?: { readonly step: number; readonly metric: number };
}
