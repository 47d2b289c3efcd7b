/** trainer_state.json: the fields that Hugging Face tools read, and under `sa2va_lab` the state for an exact resume. */

import * as z from "zod/mini";
import { isRecord, type Stored, shapeOf } from "../../bytes/json.ts";
import { requireConfig } from "../../config/parse.ts";
import type { LabConfig } from "../../config/table.ts";
import { badInput, type LabError, quote } from "../../errors.ts";
import type { LoraFields } from "../../formats/peft-names.ts";
import { openSafetensors } from "../../formats/safetensors.ts";
import type { RunStore } from "../../storage/store.ts";
import { exactJson, type Json, parseExactJson } from "../numbers-json.ts";
import type { StepMetrics } from "../rollouts/records.ts";
import { MOST_STEPS, stepName } from "../step-name.ts";

export interface TensorData {
  readonly shape: readonly number[];
  /** Row-major elements. */
  readonly data: Float32Array;
}

/** Tensors by full path, e.g. `mlp1.1.weight`, in the order of the trainable set. */
export type TensorMap = ReadonlyMap<string, TensorData>;

/** A tensor whose elements are read when they are needed: the sets of a large model do not fit in host memory. */
export interface TensorSource {
  readonly shape: readonly number[];
  /** Row-major elements. @throws LabError when they cannot be read, "bad-input" when one of a file is not finite */
  read(): Promise<Float32Array<ArrayBuffer>>;
}

/** Tensors by full path like `TensorMap`, read one at a time. */
export type TensorSet = ReadonlyMap<string, TensorSource>;

const FORMAT = "sa2va-lab-trainer/1";

const anyNumber = z.custom<number>((value) => typeof value === "number", "a number");
const count = z.number().check(z.int(), z.gte(0), z.lte(MOST_STEPS));

const STATE = z.object({
  global_step: count,
  sa2va_lab: z.object({
    format: z.literal(FORMAT),
    /** AdamW's own step count, the exponent of its bias correction. */
    optimiserStep: z.number().check(z.int(), z.gte(0), z.lte(2 ** 31)),
    config: z.record(z.string(), z.unknown()),
    trainer: z.unknown(),
    lora: z.nullable(
      z.object({ r: count.check(z.positive()), alpha: z.number().check(z.positive()), targets: z.array(z.string()) }),
    ),
    order: z.array(z.string()),
    /** The checkpoint the run started from. */
    baseModel: z.optional(z.object({ name: z.string(), hash: z.string() })),
    /** Best evaluation so far. */
    best: z.optional(z.object({ step: count, metric: z.number() })),
    /** End of the metric history, for tools that read `log_history`. */
    history: z.optional(z.array(z.record(z.string(), anyNumber))),
  }),
});

/** Everything a run needs to continue from a step as if it had never stopped. */
export interface CheckpointState
  extends Pick<Stored<typeof STATE>["sa2va_lab"], "optimiserStep" | "baseModel" | "best" | "history"> {
  /** Steps done. */
  readonly step: number;
  /** Trained tensors: `language_model.….lora_A.weight`, `mlp1.….weight`, … */
  readonly params: TensorSet;
  /** Null if the run has no EMA. */
  readonly ema: TensorSet | null;
  /** The synchronised reference; null or absent if it equals the start. */
  readonly reference?: TensorSet | null;
  /** AdamW's first and second moments, by the names of the tensors. */
  readonly moments: { readonly m: TensorSet; readonly v: TensorSet };
  /** Null without adapters. `targets` are the last parts of the layers' names, e.g. "q_proj". */
  readonly lora: LoraFields | null;
  readonly config: LabConfig;
  /** Other state of the trainer: schedule step, data cursor, counters, adaptive coefficients. */
  readonly trainer: Json;
}

type Parsed = Omit<CheckpointState, "params" | "ema" | "moments"> & {
  /** Names of the trained tensors in their order. */
  readonly order: readonly string[];
};

/** The text of the file; the same state gives the same text. */
export function formatTrainerState(state: CheckpointState): string {
  const last = state.history?.at(-1);
  const ours: Record<string, Json> = {
    format: FORMAT,
    optimiserStep: state.optimiserStep,
    config: state.config,
    trainer: state.trainer,
    lora: state.lora === null ? null : { ...state.lora },
    order: [...state.params.keys()],
  };
  if (state.baseModel !== undefined) ours.baseModel = { ...state.baseModel };
  if (state.best !== undefined) ours.best = { ...state.best };
  if (state.history !== undefined) ours.history = state.history as unknown as Json;
  const text = exactJson(
    {
      best_global_step: state.best?.step ?? null,
      best_metric: state.best?.metric ?? null,
      best_model_checkpoint: state.best === undefined ? null : `checkpoints/${stepName(state.best.step)}`,
      epoch: finite(last?.epoch) ?? 0,
      eval_steps: 0,
      global_step: state.step,
      is_hyper_param_search: false,
      is_local_process_zero: true,
      is_world_process_zero: true,
      log_history: (state.history ?? []).map(logRow),
      logging_steps: 1,
      max_steps: state.config.steps,
      num_input_tokens_seen: 0,
      num_train_epochs: 0,
      sa2va_lab: ours,
      save_steps: state.config.saveSteps,
      stateful_callbacks: {},
      total_flos: 0,
      train_batch_size: state.config.promptsPerStep,
      trial_name: null,
      trial_params: null,
    },
    2,
  );
  return `${text}\n`;
}

/** @throws LabError("bad-input") naming `path` when this version did not write it */
export function parseTrainerState(text: string, path: string): Parsed {
  const bad = (why: string, cause?: unknown): LabError =>
    badInput(`${path} ${why}; the run cannot be resumed from it`, path, cause);
  const value = parseExactJson(text, path);
  if (!isRecord(value) || !isRecord(value.sa2va_lab) || value.sa2va_lab.format !== FORMAT) {
    throw bad(`is not a trainer state of the form ${FORMAT}`);
  }
  const shape = shapeOf(value, STATE);
  if ("problem" in shape) throw bad(`is damaged: ${shape.problem}`);
  const { optimiserStep, config, trainer, lora, order, baseModel, best, history } = shape.value.sa2va_lab;
  return {
    step: shape.value.global_step,
    optimiserStep,
    config: requireConfig(config, undefined, path),
    // Validated when it was written.
    trainer: trainer as Json,
    lora,
    order,
    ...(baseModel === undefined ? {} : { baseModel }),
    ...(best === undefined ? {} : { best }),
    ...(history === undefined ? {} : { history }),
  };
}

/** A row for other tools: plain numbers, non-finite values as text. */
function logRow(row: StepMetrics): Json {
  const entries = Object.entries(row).map(([name, value]) => [name, Number.isFinite(value) ? value : String(value)]);
  return Object.fromEntries(entries) as Json;
}

function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}

// The tensors of a checkpoint's file.

/**
 * Every tensor of a safetensors file, in file order. Reading one throws LabError("bad-input") for a value that is not
 * finite.
 * @throws LabError("bad-input") naming a damaged file
 */
export async function openTensors(store: RunStore, path: string): Promise<Map<string, TensorSource>> {
  const file = await openSafetensors(await store.open(path));
  const read = async (name: string): Promise<Float32Array<ArrayBuffer>> => {
    const data = await file.read(name);
    if (data.every(Number.isFinite)) return data;
    throw badInput(`${path} has values of ${quote(name)} that are not finite; nothing was changed`, path);
  };
  return new Map(file.names.map((name) => [name, { shape: file.info(name).shape, read: () => read(name) }]));
}
