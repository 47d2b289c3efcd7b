/** Name and data of a run for its manifest, and access to rows that checks them against it. */
import type { LabConfig } from "../../../config/table.ts";
import { rowsHash } from "../../../data/open-rows.ts";
import type { RowSource } from "../../../data/training-row.ts";
import { badInput, LabError } from "../../../errors.ts";
import { type LoraFields, loraTargets } from "../../../formats/peft-names.ts";
import { unpacked } from "../../../gpu/packed/linear.ts";
import { PackedMatrix } from "../../../gpu/packed/matrix.ts";
import { STREAM, uniform } from "../../../gpu/random.ts";
import type { GpuReport } from "../../../gpu/runtime/device.ts";
import type { Tensor } from "../../../gpu/tf.ts";
import { initLora, loraShapes } from "../../../model/adapter/lora.ts";
import type { StartAdapter } from "../../../model/adapter/start-adapter.ts";
import { type TrainableBlock, trainableBlocks, trainableSet } from "../../../model/adapter/trainable.ts";
import { publishedMatrix, type Sa2vaModel } from "../../../model/sa2va.ts";
import { uploadTensors } from "../../../model/weights/weight-pieces.ts";
import type { ParameterSet } from "../../../model/weights/weights.ts";
import type { CheckpointState } from "../../../runs/checkpoint/trainer-state.ts";
import type { RunManifest } from "../../../runs/manifest.ts";
import { type RowList, type RunRows, storedRunRows, usedHash } from "../../../runs/run-rows.ts";
import { hold } from "../../../storage/lock.ts";
import type { RunStore } from "../../../storage/store.ts";
import { perLoop } from "../../loops/abouts.ts";
import type { EntropyControlState } from "../../objective/entropy-control.ts";
import { freshEntropy, freshState, restoreState, type TrainingState } from "../../optim/training-state.ts";

// Builds a training state from a loaded model and a configuration: adapters, trainable set, restored checkpoints.

export interface ShapedTrainable {
  readonly path: string;
  readonly block: TrainableBlock;
  readonly shape: readonly number[];
}

/** Trainable tensors of a model under a configuration, by full path, checked against their expected number. */
export function trainableOf(model: Sa2vaModel, config: LabConfig): readonly ShapedTrainable[] {
  const adapters = new Map(loraShapes(model.config.language, config.loraR).map(({ name, shape }) => [name, shape]));
  const names = [...model.base.keys(), ...model.frozen.keys()];
  const blocks = trainableBlocks(model.config, config.trainProjector);
  return trainableSet(model.config, names, { loraR: config.loraR, blocks }).map(({ path, block }) => {
    const shape = adapters.get(path) ?? publishedMatrix(model, path)?.shape;
    if (shape === undefined) throw new LabError("internal", `The trainable set names "${path}", which does not exist`);
    return { path, block, shape };
  });
}

export function loraSettings(model: Sa2vaModel, config: LabConfig): LoraFields {
  const paths = trainableOf(model, config).map((tensor) => /^(.+)\.lora_[AB]\.weight$/.exec(tensor.path)?.[1]);
  return {
    r: config.loraR,
    alpha: config.loraAlpha,
    dropout: config.loraDropout,
    targets: loraTargets(paths.filter((path) => path !== undefined)),
  };
}

/** Why a run with this configuration cannot start from the adapter; null when it can. */
export function adapterBlocker(start: StartAdapter, config: LabConfig): string | null {
  const scale = config.loraAlpha / config.loraR;
  if (start.rank !== config.loraR) {
    return `The adapter "${start.name}" has rank ${start.rank}, the run has rank ${config.loraR}; set LoRA rank r to ${start.rank}`;
  }
  if (Math.abs(start.scale - scale) <= 1e-6 * start.scale) return null;
  return `The adapter "${start.name}" is scaled by ${start.scale}, the run by ${scale}; set LoRA alpha to ${start.scale * start.rank}`;
}

/**
 * Published tensors and fresh adapters (A uniform, B zero) as a new parameter set owned by the caller; tensors of an opened
 * adapter replace them. Adapters are drawn and uploaded one at a time.
 * @throws LabError("bad-config") when rank or scale differ from the adapter's
 */
export async function startParameters(
  model: Sa2vaModel,
  config: LabConfig,
  start?: StartAdapter,
): Promise<ParameterSet> {
  const blocker = start === undefined ? null : adapterBlocker(start, config);
  if (blocker !== null) throw new LabError("bad-config", blocker, { subject: "loraR" });
  const draw = (tensor: number, element: number): number =>
    uniform({ seed: config.seed, step: 0, loop: 0, row: tensor, rollout: 0, position: element, stream: STREAM.init });
  const trainable = trainableOf(model, config);
  const held = function* () {
    for (const drawn of initLora(model.config.language, config.loraR, draw)) {
      yield start?.tensors.get(drawn.name) ?? drawn;
    }
    for (const { path, block } of trainable) {
      const module = block === "lora" ? undefined : start?.tensors.get(path);
      if (module !== undefined) yield module;
    }
  };
  const sources = function* () {
    for (const { name, shape, values } of held()) yield [name, { shape, read: async () => values }] as const;
  };
  const made = await uploadTensors(sources());
  return Object.fromEntries(
    trainable.map(({ path }): [string, Tensor] => {
      const published = publishedMatrix(model, path);
      return [
        path,
        made.get(path) ?? (published instanceof PackedMatrix ? unpacked(published) : (published as Tensor).clone()),
      ];
    }),
  );
}

export async function startState(model: Sa2vaModel, config: LabConfig, start?: StartAdapter): Promise<TrainingState> {
  return freshState(
    await startParameters(model, config, start),
    blocks(model, config),
    config.loraAlpha / config.loraR,
    freshEntropy(config),
  );
}

/** State of a run that continues from a checkpoint of the same model and start. */
export async function resumeState(
  model: Sa2vaModel,
  config: LabConfig,
  checkpoint: CheckpointState,
  start?: StartAdapter,
): Promise<TrainingState> {
  const counters = parseCounters(checkpoint.trainer, config);
  const own = await startParameters(model, config, start);
  return restoreState(own, blocks(model, config), config.loraAlpha / config.loraR, checkpoint, counters);
}

/** The state that a checkpoint stores besides arrays. */
export function countersOf({ optimiserSteps, skippedSteps, entropy }: TrainingState, config: LabConfig) {
  const kept = config.useAdaptiveEntropy ? { entropy: perLoop((loop) => ({ ...entropy[loop] })) } : {};
  return { optimiserSteps, skippedSteps, ...kept };
}

function parseCounters(
  trainer: unknown,
  config: LabConfig,
): Pick<TrainingState, "optimiserSteps" | "skippedSteps" | "entropy"> {
  const record = (trainer ?? {}) as Record<string, unknown>;
  const whole = (name: string): number => {
    const value = record[name];
    if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
    throw badInput(`trainer_state.json has no usable "${name}"; the run was not resumed`, name);
  };
  // Only runs with adaptive entropy store it, for the loops of their build.
  const entropy = { ...freshEntropy(config), ...(record.entropy as Partial<TrainingState["entropy"]> | undefined) };
  return {
    optimiserSteps: whole("optimiserSteps"),
    skippedSteps: whole("skippedSteps"),
    entropy: perLoop((loop) => entropyState(entropy[loop])),
  };
}

function entropyState(stored: unknown): EntropyControlState {
  const { coefficient, lastEntropy = null } = (stored ?? {}) as Partial<Record<keyof EntropyControlState, unknown>>;
  const usable = Number.isFinite(coefficient) && (lastEntropy === null || Number.isFinite(lastEntropy));
  if (usable) return { coefficient, lastEntropy } as EntropyControlState;
  throw badInput("trainer_state.json has no usable entropy bonus; the run was not resumed", "entropy");
}

function blocks(model: Sa2vaModel, config: LabConfig): (path: string) => string {
  const byPath = new Map(trainableOf(model, config).map((tensor) => [tensor.path, tensor.block]));
  return (path) => byPath.get(path) ?? "other";
}

/** Rows by index; refused if another data set was opened during the run. */
export function checkedRows(rows: RowSource, list: RowList): RowSource {
  return async (index) => {
    const row = await rows(index);
    const expected = list.rows[index]?.[0];
    if (row.summary.id === expected) return row;
    throw badInput(`Row ${index} of ${list.dataSet} has changed; open the same shards and resume`, list.dataSet);
  };
}

/** Fields of a new run's manifest other than settings, model and data. */
export function newRun(title: string, created: string, version: string, device: GpuReport) {
  const { vendor, architecture, description, software } = device;
  return {
    format: "sa2va-lab-run/1",
    id: runId(title, created),
    title,
    created,
    version,
    adapter: { vendor, architecture, description, software },
    state: "running",
  } as const;
}

/** Number of all parameters and of trained parameters. */
export function parameterCounts(model: Sa2vaModel, config: LabConfig) {
  return { parameters: model.parameters, trainableParameters: elements(trainableOf(model, config)) };
}

/** Folder name of a run: its title in plain letters and its start in milliseconds. */
export function runId(title: string, created: string): string {
  const slug = title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  return `${slug === "" ? "run" : slug}-${created.replace(/\D/g, "").slice(0, 17)}`;
}

export async function describeData(
  list: RowList,
  selected: Pick<RunRows, "train" | "heldOut">,
  config: Pick<LabConfig, "rowFilter">,
): Promise<RunManifest["data"]> {
  return {
    name: list.dataSet,
    rows: list.rows.length,
    trainRows: selected.train.length,
    heldOutRows: selected.heldOut.length,
    hash: await rowsHash(list.rows),
    ...(await usedHash(list, selected, config)),
  };
}

/**
 * Checks that a run continues with its original model and rows, and returns the rows.
 * @param hash hash of the loaded model
 * @throws LabError("bad-input") naming the difference
 */
export async function rowsOfSameRun(manifest: RunManifest, hash: string, list: RowList): Promise<RunRows> {
  const { id, title } = manifest;
  if (manifest.model.hash !== hash) {
    throw badInput(`Run "${title}" was trained on ${manifest.model.name}, but another model is loaded`, id);
  }
  return storedRunRows(manifest, list);
}

/** Number of elements of all tensors together. */
function elements(tensors: readonly { readonly shape: readonly number[] }[]): number {
  return tensors.reduce((sum, { shape }) => sum + shape.reduce((product, side) => product * side, 1), 0);
}

/** Locks the run. @returns the function that releases it @throws LabError("bad-input") when another tab or process holds it */
export async function holdOrRefuse(store: RunStore, id: string): Promise<() => void> {
  if (store.hold !== undefined) return store.hold(id);
  const release = await hold("run", id);
  if (release === null) throw badInput(`Run "${id}" is running in another tab`, id);
  return release;
}
