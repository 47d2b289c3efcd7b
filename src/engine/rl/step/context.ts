/** What a loop needs to sample a group, and how the trainer observes and interrupts it. */

import type { LabConfig } from "../../config/table.ts";
import type { TrainingRow } from "../../data/training-row.ts";
import type { EvalDeps } from "../../eval/held-out.ts";
import { normal, type RandomKey, STREAM, uniform } from "../../gpu/random.ts";
import { publishedMatrix, type Sa2vaModel } from "../../model/sa2va.ts";
import { type AdapterDropout, type ParameterSet, type Weights, weightsView } from "../../model/weights/weights.ts";
import { disposeFeatures, type ImageFeatures } from "../../policy/features.ts";
import type { MaskDraws } from "../../policy/mask/mask-policy.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import type { Phase } from "../run/events.ts";
import type { DrawnGroup } from "./group.ts";

export interface StepContext
  extends Pick<
    EvalDeps,
    "model" | "config" | "policy" | "partner" | "start" | "captioner" | "features" | "scorer" | "signal"
  > {
  readonly step: number;
  /** Number of the first group of a sampling, for its draws and records; 0 if absent. */
  readonly firstGroup?: number;
  /** Measures likelihoods even if their terms have weight 0; for the reward bench. */
  readonly watchLikelihood?: boolean;
  /**
   * Reports the phase and waits while the run is paused; throws LabError("cancelled") when it is stopped.
   * @param drawn the loop's groups so far
   */
  phase(phase: Phase, loop: LoopId | null, drawn?: () => readonly DrawnGroup[]): Promise<void>;
}

/** Runs `use` with the features of the rows' pictures, which are freed afterwards. */
export async function withFeatures<T>(
  context: Pick<StepContext, "features" | "signal">,
  rows: readonly TrainingRow[],
  use: (features: readonly ImageFeatures[]) => Promise<T>,
): Promise<T> {
  const features: ImageFeatures[] = [];
  try {
    const { signal } = context;
    for (const { summary, rgb, view, mask } of rows) {
      features.push(await context.features.get(summary.imageId, rgb, view, { signal }, mask));
    }
    return await use(features);
  } finally {
    for (const own of features) disposeFeatures(own);
  }
}

/**
 * Number of a group in its step.
 * @param group its index within the sampling
 */
export function groupNumber({ firstGroup = 0 }: Pick<StepContext, "firstGroup">, group: number): number {
  return firstGroup + group;
}

/** Key of a group's token draws: one number per (rollout, position). */
export function tokenKey(context: StepContext, loop: LoopId, group: number, rollout: number): RandomKey {
  return {
    seed: context.config.seed,
    step: context.step,
    loop,
    row: groupNumber(context, group),
    rollout,
    position: 0,
    stream: STREAM.token,
  };
}

/** Key of the dropout in a loop's training passes: all passes of a step have the same masks. */
export function dropoutKey(
  { config, step }: StepContext,
  loop: number,
  rollout = 0,
): Omit<RandomKey, "row" | "position"> {
  return { seed: config.seed, step, loop, rollout, stream: STREAM.dropout };
}

/** Draws of a group's mask noise: one number per (rollout, cell). */
export function maskDraws(
  context: Pick<StepContext, "config" | "step" | "firstGroup">,
  loop: LoopId,
  group: number,
): MaskDraws {
  const { seed } = context.config;
  const key = (rollout: number, position: number): RandomKey => ({
    seed,
    step: context.step,
    loop,
    row: groupNumber(context, group),
    rollout,
    position,
    stream: STREAM.mask,
  });
  return {
    normal: (rollout, position) => normal(key(rollout, position)),
    uniform: (rollout, position) => uniform(key(rollout, position)),
    token: (rollout) => ({ ...key(rollout, 0), stream: STREAM.token }),
  };
}

// The weights that the passes of a run use.

/**
 * The model's weights with trainable tensors taking precedence, in the precision and form of the settings.
 * @param loraScale alpha / r
 * @param key random address of a training pass, in which `loraDropout` applies to adapters; absent for other passes,
 * which have no dropout
 */
export function runWeights(
  model: Sa2vaModel,
  trainable: ParameterSet | (() => ParameterSet),
  loraScale: number,
  config: Pick<LabConfig, "halfProducts" | "loraDropout">,
  key?: AdapterDropout["key"],
): Weights {
  const { halfProducts, loraDropout: share } = config;
  const dropout = key === undefined || share === 0 ? undefined : { share, key };
  // Parts that could train and do not are read as published.
  const published = { get: (name: string) => publishedMatrix(model, name) };
  return weightsView(published, trainable, loraScale, halfProducts ? "f16" : "f32", dropout);
}
