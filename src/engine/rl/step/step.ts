/** What sampling and scoring compute with: in a step of a run, in an evaluation, on the reward bench. */

import { needsLikelihood } from "../../config/groups/reward-weights.ts";
import type { LabConfig } from "../../config/table.ts";
import type { TrainingRow } from "../../data/training-row.ts";
import { LabError } from "../../errors.ts";
import { normal, type RandomKey, STREAM, uniform } from "../../gpu/random.ts";
import { publishedMatrix, type Sa2vaModel } from "../../model/sa2va.ts";
import { type AdapterDropout, type ParameterSet, type Weights, weightsView } from "../../model/weights/weights.ts";
import { captionLikelihoods, type JudgedPicture, type MaskLikelihood } from "../../policy/caption-likelihood.ts";
import { disposeFeatures, type FeatureCache, type ImageFeatures } from "../../policy/features.ts";
import type { MaskDraws } from "../../policy/mask/mask-policy.ts";
import type { LoopId } from "../../runs/rollouts/records.ts";
import type { Phase } from "../run/events.ts";
import type { Lab } from "../run/lab.ts";
import type { DrawnGroup } from "./group.ts";

/** The lab with the settings and weights of one step. */
export interface Step extends Lab {
  /** From 1; 0 for the evaluation of the start. */
  readonly number: number;
  readonly config: LabConfig;
  readonly policy: Weights;
  readonly partner: Weights;
  /** Weights at the start of the run. */
  readonly start: Weights;
  /** Weights of another checkpoint; absent if none is open. */
  readonly captioner?: Weights | undefined;
  readonly features: FeatureCache;
  readonly signal: AbortSignal;
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
  step: Step,
  rows: readonly TrainingRow[],
  use: (features: readonly ImageFeatures[]) => Promise<T>,
): Promise<T> {
  const features: ImageFeatures[] = [];
  try {
    const { signal } = step;
    for (const { summary, rgb, view, mask } of rows) {
      features.push(await step.features.get(summary.imageId, rgb, view, { signal }, mask));
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
export function groupNumber({ firstGroup = 0 }: Step, group: number): number {
  return firstGroup + group;
}

/** Key of a group's token draws: one number per (rollout, position). */
export function tokenKey(step: Step, loop: LoopId, group: number, rollout: number): RandomKey {
  return {
    seed: step.config.seed,
    step: step.number,
    loop,
    row: groupNumber(step, group),
    rollout,
    position: 0,
    stream: STREAM.token,
  };
}

/** Key of the dropout in a loop's training passes: all passes of a step have the same masks. */
export function dropoutKey({ config, number }: Step, loop: number, rollout = 0): Omit<RandomKey, "row" | "position"> {
  return { seed: config.seed, step: number, loop, rollout, stream: STREAM.dropout };
}

/** Draws of a group's mask noise: one number per (rollout, cell). */
export function maskDraws(step: Step, loop: LoopId, group: number): MaskDraws {
  const { seed } = step.config;
  const key = (rollout: number, position: number): RandomKey => ({
    seed,
    step: step.number,
    loop,
    row: groupNumber(step, group),
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

// Likelihoods of captions by the captioner that the settings name.

/**
 * Likelihoods for the reward terms of a loop.
 * @returns one list per picture with one entry per mask; empty if no reward of the loop needs them
 * @throws LabError("cancelled") when the signal is aborted
 */
export async function wantedLikelihoods(
  step: Step,
  loop: LoopId,
  pictures: readonly JudgedPicture[],
): Promise<readonly (readonly (MaskLikelihood | null)[])[]> {
  const { model, config, signal, watchLikelihood = false } = step;
  if (!watchLikelihood && !needsLikelihood(config, loop)) return [];
  const weights = captionerOf(step);
  // A run checks its captioner before it starts, so only watched likelihoods can lack one; these are not measured.
  if (weights === undefined) return [];
  const { logitGuard, groupsAtOnce } = config;
  const options = { logitGuard, keepTiny: config.smallRegions === "force", masksAtOnce: groupsAtOnce };
  const found: (readonly (MaskLikelihood | null)[])[] = [];
  for (const picture of pictures) {
    if (signal.aborted) throw new LabError("cancelled", "The likelihoods of captions were stopped");
    found.push(await captionLikelihoods(model, weights, picture, options));
  }
  return found;
}

/** Weights that compute likelihoods; undefined if the settings name another checkpoint and none is open. */
export function captionerOf({ config, partner, start, captioner }: Step): Weights | undefined {
  return { partner, start, adapter: captioner }[config.likelihoodJudge];
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
