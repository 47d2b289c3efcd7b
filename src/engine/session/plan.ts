/** Forecast of a run: the trainable tree, bytes, blockers and warnings. */

import { presetConfig } from "../config/presets.ts";
import type { LabConfig } from "../config/table.ts";
import { quote } from "../errors.ts";
import { PackedMatrix } from "../gpu/packed/matrix.ts";
import type { EngineDevice } from "../gpu/runtime/device.ts";
import { setPlannedBytes } from "../gpu/runtime/pool.ts";
import type { Throughput } from "../gpu/runtime/throughput.ts";
import { sameStorage } from "../loading/storage-settings.ts";
import type { Sa2vaConfig } from "../model/config.ts";
import type { PictureSize } from "../model/families/family.ts";
import { visionFamily } from "../model/families/registry.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { StorageChoice } from "../model/weights/storage-choice.ts";
import type { Matrix } from "../model/weights/weights.ts";
import { bytesText } from "../plan/bytes-text.ts";
import {
  bindingProblem,
  budgetBytes,
  type FitChange,
  type Forecast,
  fittingChanges,
  fittingSettings,
  forecast,
  type RowShape,
} from "../plan/fit.ts";
import { NO_CAPTIONER } from "../policy/caption-likelihood.ts";
import { fittedCaption } from "../policy/fit-caption.ts";
import { captionPrompt, segmentPrompt } from "../policy/prompts.ts";
import type { Lab } from "../rl/run/lab.ts";
import { type Advice, settingBlockers } from "../rl/run/start/blockers.ts";
import { asksCaptioner } from "../rl/run/start/captioner.ts";
import { adapterBlocker, type ShapedTrainable, trainableOf } from "../rl/run/start/run-facts.ts";
import { rowWarnings } from "./row-warnings.ts";

const F32 = 4;

/** Weight files above this many bytes are those of a real checkpoint, whose storage and sizes have to fit the GPU. */
const LARGE_BYTES = 1e9;
/** Gigabytes of a GPU whose memory is unknown. */
const ASSUMED_GIGABYTES = 8;

/** Settings with which a run on a real checkpoint fits, and the memory they are for. */
interface FittedSettings extends Pick<FitChange, "label" | "values"> {
  readonly gigabytes: number;
  /** Whether that memory was assumed, because it is unknown. */
  readonly assumed: boolean;
}

/**
 * A model's configuration with the limits that these pictures reach, or its own ones where none are known.
 * @param maxTiles of the settings; a smaller limit may choose a grid of fewer tiles than it allows
 */
export function reachedLimits(
  model: Sa2vaConfig,
  pictures: readonly PictureSize[] = [],
  maxTiles = model.maxTiles,
): Sa2vaConfig {
  const limited = { ...model, maxTiles: Math.min(model.maxTiles, maxTiles) };
  return pictures.length === 0 ? model : visionFamily(model).reached(limited, pictures);
}

/** Lengths in a model's own tokens: of the words around a picture and its region, and of the longest of these captions as an answer and as a phrase. */
export function rowLengths(model: Sa2vaModel, captions: readonly string[] = []): Omit<RowShape, "clips"> {
  const picture = { tiles: 1, grid: { rows: 1, cols: 1 } };
  const words = captionPrompt(model, picture, new Uint8Array(1).fill(1)).ids.length - 2;
  if (captions.length === 0) return { words };
  const longest = (lengthOf: (caption: string) => number): number => Math.max(...captions.map(lengthOf));
  return {
    words,
    captionTokens: longest((caption) => fittedCaption(model, caption, words).made.ids.length),
    phraseTokens: longest((caption) => segmentPrompt(model, picture, caption).forcedIds.length - 1),
  };
}

/**
 * The preset for real checkpoints at the largest sizes that fit.
 * @param model with the limits that the open rows reach
 * @param held storage to prefer
 * @param gigabytes of the GPU; 0 if unknown
 * @param bytes of the weight files
 * @returns null for a small model, and for one that no GPU of this size can train
 */
export function fittedSettings(
  model: Sa2vaConfig,
  bytes: number,
  held: StorageChoice,
  gigabytes: number,
  software: boolean,
  rows: RowShape = {},
): (FittedSettings & Pick<FitChange, "choice">) | null {
  if (bytes <= LARGE_BYTES) return null;
  const assumed = gigabytes <= 0;
  const memory = assumed ? ASSUMED_GIGABYTES : gigabytes;
  const found = fittingSettings(model, presetConfig("real"), held, budgetBytes(memory), software, rows);
  if (found === null) return null;
  const { label, values, choice } = found;
  return { label, values: { ...values, gpuMemory: memory }, choice, gigabytes: memory, assumed };
}

/** One block of the trainable tree (adapters, projector, mask decoder, …). */
interface PlannedBlock {
  readonly block: string;
  readonly tensors: readonly { readonly path: string; readonly shape: readonly number[] }[];
  readonly parameters: number;
}

export interface Plan {
  readonly trainable: readonly PlannedBlock[];
  readonly trainableParameters: number;
  readonly frozenParameters: number;
  readonly checkpointBytes: number;
  readonly fit: FitReport;
  /** Reasons why the run cannot start; empty if it can. */
  readonly problems: readonly Advice[];
  readonly warnings: readonly string[];
  /** What the open rows ask of the model and the settings. */
  readonly rows: readonly Advice[];
}

/** The forecast of a run's memory and time, and changes that make it fit. */
interface FitReport extends Pick<Forecast, "parts" | "held" | "peak" | "stepSeconds" | "group"> {
  /** Bytes available to the run; null if the GPU's memory is unknown. */
  readonly budget: number | null;
  /** For a real checkpoint, the settings with which a run fits; null for a small one, or if none does. */
  readonly fitted: FittedSettings | null;
  /** Each brings the peak below the budget: single changes, or one of all sizes together; `reload` if the model must be loaded again. */
  readonly changes: readonly {
    readonly label: string;
    readonly values: Partial<LabConfig>;
    readonly reload: boolean;
    readonly peak: number;
  }[];
}

/** What a plan reads of the open rows. */
export interface PlannedRows {
  /** Whether they are clips. */
  readonly clips: boolean;
  /** Sizes of the pictures or frames; empty where no rows are open. */
  readonly pictures: readonly PictureSize[];
  /** At most ROW_SAMPLE captions. */
  readonly captions: readonly string[];
  /** Rows that pass the row filter; absent where no rows are open. */
  readonly used?: number;
}

/**
 * @param rows what is known of the open rows
 * @param rate of the device, if it was measured
 * @throws LabError("bad-config") when the trainable set is not the declared one
 */
export function planRun(lab: Lab, config: LabConfig, rows?: PlannedRows, rate?: Throughput): Plan {
  const { model, device } = lab;
  const tensors = trainableOf(model, config);
  const count = (list: readonly ShapedTrainable[]): number =>
    list.reduce((sum, tensor) => sum + tensor.shape.reduce((product, side) => product * side, 1), 0);
  const trainableParameters = count(tensors);
  const frozenParameters = [...model.frozen.values()].reduce((sum, tensor) => sum + tensor.size, 0);
  const trainable = [...new Set(tensors.map((tensor) => tensor.block))].map((block) => {
    const own = tensors.filter((tensor) => tensor.block === block);
    return { block, tensors: own.map(({ path, shape }) => ({ path, shape })), parameters: count(own) };
  });
  const shape = { clips: rows?.clips, ...rowLengths(model, rows?.captions) };
  const reached = reachedLimits(model.config, rows?.pictures);
  const now = reachedLimits(model.config, rows?.pictures, config.maxTiles);
  const fit = fitReport(model, { reached, now }, config, rate, device.report.software, shape);
  return {
    trainable,
    trainableParameters,
    frozenParameters,
    checkpointBytes: 4 * F32 * trainableParameters,
    fit,
    problems: [
      ...problemsOf(model, reached, config, device, shape),
      ...[
        ...(rows?.used === 0
          ? [`No row passes the row filter ${quote(config.rowFilter)}; change it or use all rows`]
          : []),
        ...startProblems(config, lab.adapters),
        ...fitProblems(fit),
      ].map((sentence) => ({ sentence })),
    ],
    warnings: warningsOf(model, config, device),
    rows: rowWarnings(model.tokenizer, rows?.captions ?? [], config),
  };
}

/** Runs work outside a run, whose buffers may take what the plan of a run with these settings allows. */
export async function withinPlan<T>({ model, device }: Lab, settings: LabConfig, work: () => Promise<T>): Promise<T> {
  setPlannedBytes(forecast(model.config, settings, model.storage, null, device.report.software).peak);
  try {
    return await work();
  } finally {
    setPlannedBytes();
  }
}

/** @param limits that the rows reach under any setting, and under the present ones */
function fitReport(
  { storage, bytes }: Sa2vaModel,
  { reached: model, now }: Readonly<Record<"reached" | "now", Sa2vaConfig>>,
  config: LabConfig,
  rate: Throughput | undefined,
  blocks: boolean,
  rows: RowShape,
): FitReport {
  const { parts, held, peak, stepSeconds, group } = forecast(now, config, storage, rate ?? null, blocks, rows);
  const budget = budgetBytes(config.gpuMemory);
  const single = fittingChanges(model, config, storage, budget, blocks, rows);
  const together =
    peak <= budget || single.length > 0 ? null : fittingSettings(model, config, storage, budget, blocks, rows);
  const changes = (together === null ? single : [together]).map(({ choice, ...change }) => ({
    ...change,
    reload: !sameStorage(choice, storage),
  }));
  const fitted = fittedSettings(model, bytes, storage, config.gpuMemory, blocks, rows);
  const limit = Number.isFinite(budget) ? budget : null;
  return { parts, held, peak, budget: limit, fitted, changes, stepSeconds, group };
}

/** A step that needs at most this many bytes may start even if the GPU's memory is unknown. */
const UNASKED_BYTES = 4e9;

export function fitProblems({ peak, budget, changes }: Pick<FitReport, "peak" | "budget" | "changes">): string[] {
  if (budget === null) {
    if (peak <= UNASKED_BYTES) return [];
    return [`A step needs ${bytesText(peak)}, but the GPU's memory is unknown: set “GPU memory” (gpuMemory) once`];
  }
  if (peak <= budget) return [];
  const [first] = changes;
  const remedy =
    first === undefined ? "no sizes of a run fit" : `this is enough: ${first.label} (${bytesText(first.peak)})`;
  return [`A step needs ${bytesText(peak)}, but a run can use ${bytesText(budget)}; ${remedy}`];
}

function startProblems(config: LabConfig, { start, captioner }: Lab["adapters"]): string[] {
  const blocker = start === undefined ? null : adapterBlocker(start, config);
  const missing = captioner === undefined && asksCaptioner(config) ? NO_CAPTIONER : null;
  return [blocker, missing].filter((problem) => problem !== null);
}

/**
 * Bytes of a weight that a program binds at once: packed matrices are split into blocks that every adapter can bind.
 */
function boundBytes(weight: Matrix): number {
  return weight instanceof PackedMatrix ? 0 : weight.size * F32;
}

function problemsOf(
  model: Sa2vaModel,
  reached: Sa2vaConfig,
  config: LabConfig,
  device: EngineDevice,
  rows: RowShape,
): Advice[] {
  const problems: Advice[] = [...settingBlockers(model, config)];
  const binding = device.report.limits.maxStorageBufferBindingSize ?? Number.POSITIVE_INFINITY;
  const largest = [...model.frozen, ...model.base].reduce(
    (most, [path, weight]) => {
      const bytes = boundBytes(weight);
      return bytes > most.bytes ? { path, bytes } : most;
    },
    { path: "", bytes: 0 },
  );
  if (largest.bytes > binding) {
    const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;
    const sentence = `${largest.path} takes ${mebibytes(largest.bytes)}, but this adapter binds at most ${mebibytes(binding)} at once`;
    problems.push({ sentence });
  }
  const array = bindingProblem(reached, config, model.storage, binding, rows);
  return array === null ? problems : [...problems, { sentence: array }];
}

function warningsOf(model: Sa2vaModel, config: LabConfig, device: EngineDevice): string[] {
  const warnings: string[] = [];
  if (config.regionPrompt === "tokens" && model.config.regionPrompt !== "tokens" && config.mode === "rl") {
    warnings.push(
      "This model was not trained on copied tokens of regions, so its captions do not depend on the region yet: train a supervised run with regionPrompt tokens first, or draw regions with outline",
    );
  }
  if (device.report.software) warnings.push("This is a software adapter: correct, but many times slower than a GPU");
  if (config.numGenerations === 2)
    warnings.push(
      "With two rollouts per group, every advantage is ±0.71, for large and small differences in reward; only those near Advantage ε give less",
    );
  if (config.topK > 0 || config.topP < 1 || config.minP > 0 || config.repetitionPenalty !== 1) {
    warnings.push("Truncated or penalised sampling makes the rollouts off-policy");
  }
  if (config.emaDecay >= 0.999 && config.steps < 200 && !config.emaRamp) {
    warnings.push(`At decay ${config.emaDecay} the partner barely moves in ${config.steps} steps`);
  }
  if (config.objective === "grpo" && config.lossType === "cispo" && config.epsilonHigh < 1) {
    warnings.push(
      `With cispo, Clip ε high is the largest weight of an action, so ${config.epsilonHigh} scales down every action; 5 is usual`,
    );
  }
  if (config.objective === "notes")
    warnings.push("The reference-ratio formula stops learning when the ratio leaves the clip range");
  return warnings;
}
