import type { LabConfig } from "../../config/table.ts";
import type { LoraFields } from "../../formats/peft-names.ts";
import type { Json } from "../numbers-json.ts";
import type { StepMetrics } from "../records.ts";

export interface TensorData {
  readonly shape: readonly number[];
  /** Row-major elements. */
  readonly data: Float32Array;
}

/** Tensors by full path, e.g. `mlp1.1.weight`; the order is the trainable set's. */
export type TensorMap = ReadonlyMap<string, TensorData>;

/** Everything a run needs to go on from a step as if it had never stopped. */
export interface CheckpointState {
  /** Steps done. */
  readonly step: number;
  /** Trained tensors: `language_model.….lora_A.weight`, `mlp1.….weight`, … */
  readonly params: TensorMap;
  /** Null when the run keeps no EMA. */
  readonly ema: TensorMap | null;
  /** The synchronised reference; null or absent when it is the start. */
  readonly reference?: TensorMap | null;
  /** AdamW's first and second moments under the tensors' names. */
  readonly moments: { readonly m: TensorMap; readonly v: TensorMap };
  /** AdamW's own count, the exponent of its bias correction. */
  readonly optimiserStep: number;
  /** Null without adapters. `targets` are the layers' last names, e.g. "q_proj". */
  readonly lora: LoraFields | null;
  readonly config: LabConfig;
  /** Whatever else the trainer must find again: schedule step, data cursor, counters, adaptive coefficients. */
  readonly trainer: Json;
  /** The checkpoint the run started from. */
  readonly baseModel?: { readonly name: string; readonly hash: string };
  /** Tail of the metric history, for tools that read `log_history`. */
  readonly history?: readonly StepMetrics[];
  /** Best evaluation so far. */
  readonly best?: { readonly step: number; readonly metric: number };
}
