/** What a run would take before it starts: the trainable tree, bytes, and reasons why it cannot or should not run. */
import type { LabConfig } from "../config/table.ts";
import type { EngineDevice } from "../gpu/device.ts";
import { PackedMatrix } from "../gpu/packed/matrix.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { Matrix } from "../model/weights.ts";
import { needsReference } from "./loss-config.ts";
import { type ShapedTrainable, trainableOf } from "./start-run.ts";

const F32 = 4;

/** One block of the trainable tree (adapters, projector, mask decoder, …). */
export interface PlannedBlock {
  readonly block: string;
  readonly tensors: readonly { readonly path: string; readonly shape: readonly number[] }[];
  readonly parameters: number;
}

export interface Plan {
  readonly trainable: readonly PlannedBlock[];
  readonly trainableParameters: number;
  readonly frozenParameters: number;
  /** Bytes: weights, gradients, two Adam moments, EMA, reference copy. */
  readonly bytes: Readonly<Record<"weights" | "trainable" | "gradients" | "moments" | "ema" | "reference", number>>;
  readonly checkpointBytes: number;
  /** Sentences that forbid the start; empty when it can run. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** @throws LabError("bad-config") when the trainable set is not the declared one */
export function planRun(model: Sa2vaModel, config: LabConfig, device: EngineDevice): Plan {
  const tensors = trainableOf(model, config);
  const count = (list: readonly ShapedTrainable[]): number =>
    list.reduce((sum, tensor) => sum + tensor.shape.reduce((product, side) => product * side, 1), 0);
  const trainableParameters = count(tensors);
  const frozenParameters = [...model.frozen.values()].reduce((sum, tensor) => sum + tensor.size, 0);
  const trained = trainableParameters * F32;
  const trainable = [...new Set(tensors.map((tensor) => tensor.block))].map((block) => {
    const own = tensors.filter((tensor) => tensor.block === block);
    return { block, tensors: own.map(({ path, shape }) => ({ path, shape })), parameters: count(own) };
  });
  return {
    trainable,
    trainableParameters,
    frozenParameters,
    bytes: {
      weights: [...model.frozen.values()].reduce((sum, weight) => sum + heldBytes(weight), 0),
      trainable: trained,
      gradients: trained,
      moments: 2 * trained,
      ema: trained,
      reference: needsReference(config) ? trained : 0,
    },
    checkpointBytes: 4 * trained,
    problems: problemsOf(model, config, device),
    warnings: warningsOf(config, device),
  };
}

/** Bytes a weight takes on the GPU. */
function heldBytes(weight: Matrix): number {
  return weight instanceof PackedMatrix ? weight.bytes : weight.size * F32;
}

/** Bytes a program binds of it at once: packed matrices are cut so that every adapter can bind their blocks. */
function boundBytes(weight: Matrix): number {
  return weight instanceof PackedMatrix ? 0 : weight.size * F32;
}

function problemsOf(model: Sa2vaModel, config: LabConfig, device: EngineDevice): string[] {
  const problems: string[] = [];
  const maskSide = model.config.sam2.imageSize / 4;
  if (config.loops !== "1" && usesField(config) && maskSide % config.fieldGrid !== 0) {
    problems.push(`Field grid ${config.fieldGrid} must divide this model's mask side of ${maskSide} cells`);
  }
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
    problems.push(
      `${largest.path} takes ${mebibytes(largest.bytes)}, this adapter binds at most ${mebibytes(binding)} at once`,
    );
  }
  return problems;
}

function warningsOf(config: LabConfig, device: EngineDevice): string[] {
  const warnings: string[] = [];
  if (device.report.software) warnings.push("This is a software adapter: correct, but many times slower than a GPU");
  if (config.groupSize === 2)
    warnings.push("With two rollouts a group, every advantage is ±0.71 whatever the rewards are");
  if (config.topK > 0 || config.topP < 1 || config.minP > 0 || config.repetitionPenalty !== 1) {
    warnings.push("Truncated or penalised sampling makes the rollouts off-policy");
  }
  if (config.emaDecay >= 0.999 && config.steps < 200 && !config.emaRamp) {
    warnings.push(`At decay ${config.emaDecay} the partner hardly moves in ${config.steps} steps`);
  }
  if (config.objective === "notes")
    warnings.push("The notes' formula stops learning once the ratio leaves the clip range");
  return warnings;
}

function usesField(config: LabConfig): boolean {
  return config.maskPolicy === "field" || config.maskPolicy === "imitation";
}
