/** trainer_state.json: the fields Hugging Face tools read, and under `sa2va_lab` what an exact resume needs. */
import { isRecord } from "../bytes/json.ts";
import { requireConfig } from "../config/parse.ts";
import { LabError } from "../errors.ts";
import type { CheckpointState } from "./checkpoint-state.ts";
import { exactJson, type Json, parseExactJson } from "./numbers-json.ts";
import type { StepMetrics } from "./records.ts";
import { stepName } from "./step-name.ts";

const FORMAT = "sa2va-lab-trainer/1";

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
    lora: state.lora,
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
      num_input_tokens_seen: finite(last?.num_tokens) ?? 0,
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

/** @throws LabError("bad-input") naming `path` when it is not a state this version wrote */
export function parseTrainerState(text: string, path: string): Parsed {
  const bad = (why: string, cause?: unknown): LabError =>
    new LabError("bad-input", `${path} ${why}; the run cannot be resumed from it`, { subject: path, cause });
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (thrown) {
    throw bad(`is not valid JSON (${(thrown as Error).message})`, thrown);
  }
  const ours = isRecord(value) ? value.sa2va_lab : undefined;
  if (!isRecord(value) || !isRecord(ours) || ours.format !== FORMAT) throw bad(`holds no state of the form ${FORMAT}`);
  const { optimiserStep, config, trainer, lora, order, baseModel, best, history } = ours;
  if (typeof value.global_step !== "number" || typeof optimiserStep !== "number") throw bad("has no step counts");
  if (!isRecord(config) || !Array.isArray(order)) throw bad("lacks its settings or its list of tensors");
  return {
    step: value.global_step,
    optimiserStep,
    config: requireConfig(config, undefined, path),
    trainer: trainer as Json,
    lora: lora as CheckpointState["lora"],
    order: order as string[],
    ...(baseModel === undefined ? {} : { baseModel: baseModel as NonNullable<CheckpointState["baseModel"]> }),
    ...(best === undefined ? {} : { best: best as NonNullable<CheckpointState["best"]> }),
    ...(history === undefined ? {} : { history: history as readonly StepMetrics[] }),
  };
}

/** A row as other tools read it: no marked numbers, non-finite values as text. */
function logRow(row: StepMetrics): Json {
  const entries = Object.entries(row).map(([name, value]) => [name, Number.isFinite(value) ? value : String(value)]);
  return Object.fromEntries(entries) as Json;
}

function finite(value: number | undefined): number | null {
  return value !== undefined && Number.isFinite(value) ? value : null;
}
