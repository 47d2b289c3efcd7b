/** The caption policy of loop 1: groups of captions of marked regions, and their log-probabilities. */
import { repeatRows } from "../gpu/kernels/repeat.ts";
import type { Place } from "../gpu/kernels/rope.ts";
import { atOnce } from "../gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { promptPlaces } from "../model/language/config-language.ts";
import { languageScores } from "../model/language/language.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { Weights } from "../model/weights/weights.ts";
import type { Prompt } from "../text/prompt.ts";
import type { Completion } from "./decode/generate.ts";
import { batchesOf, type PromptBatch, statesBehind } from "./decode/prefill.ts";
import type { SamplerSettings } from "./decode/sampler.ts";
import { batchPositions, embedIds, embedPrompt, projectImages, projectVision, shownVision } from "./embedding.ts";
import type { ImageFeatures } from "./features.ts";
import { type CaptionPrompt, promptRegions } from "./prompts.ts";

/** A prompt, with the cells of its region if it marks one. */
export type AskedPrompt = Prompt & Partial<Pick<CaptionPrompt, "cells">>;

/** Prompt of a group: all tokens except the last are shared; the last one is the tail of each rollout. */
export function captionBatch(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  prompt: AskedPrompt,
  rollouts: number,
): PromptBatch {
  const [prefix, tails] = tf.tidy(() => {
    const projected = projectVision(model, weights, shownVision(features));
    const whole = embedPrompt(model, weights, prompt, prompt.ids, projected, promptRegions(prompt));
    const [, length, width] = whole.shape as [number, number, number];
    const last = tf.slice(whole, [0, length - 1, 0], [1, 1, width]);
    return [tf.slice(whole, [0, 0, 0], [1, length - 1, width]), repeatRows(last, rollouts)];
  }) as [Tensor, Tensor];
  const tailLengths = new Array<number>(rollouts).fill(1);
  const { positions } = batchPositions(model, [prompt]);
  const repeated =
    positions === undefined ? {} : { positions: tailLengths.map(() => positions[0] as readonly Place[]) };
  return { prefix, tails, tailLengths, ...repeated, promptIds: prompt.ids };
}

/** A group of captions of one region. */
export interface CaptionGroup {
  readonly features: ImageFeatures;
  readonly prompt: AskedPrompt;
  /** All groups of a call have the same number. */
  readonly completions: readonly Completion[];
  /** Minimum width T of the group's result; by default its longest completion. */
  readonly actions?: number;
}

/** For each action of each rollout, [N, T]. */
export interface CaptionLogps {
  readonly logps: Tensor;
  readonly entropies: Tensor;
}

/**
 * log π and entropy of sampled captions under `weights`, [N, T] per group. Each prompt runs once for its group, and its
 * gradient sums over the rollouts. T is the group's longest completion, at least `actions`. Guard, temperature and
 * rotation equal the sampler's; otherwise the on-policy ratio would not be 1.
 * @param maxCompletionLength limit of the sampler; by default T, as in a pass over whole sequences
 */
export function captionLogps(
  model: Sa2vaModel,
  weights: Weights,
  groups: readonly CaptionGroup[],
  sampler: SamplerSettings,
  maxCompletionLength?: number,
): CaptionLogps[] {
  const sized = groups.map(({ actions = 1, ...group }): SizedGroup => {
    const width = Math.max(actions, ...group.completions.map(({ ids }) => ids.length));
    return { ...group, width, ropeLength: group.prompt.ids.length + (maxCompletionLength ?? width) };
  });
  const lengths = sized.map(({ prompt, width, ropeLength }) => Math.max(ropeLength, prompt.ids.length + width));
  const logps: CaptionLogps[] = [];
  for (const alike of batchesOf(model.config.language, lengths)) {
    const groups = alike.map((at) => sized[at] as SizedGroup);
    const own = logpsTogether(model, weights, groups, sampler);
    alike.forEach((at, n) => {
      logps[at] = own[n] as CaptionLogps;
    });
  }
  return logps;
}

interface SizedGroup extends Omit<CaptionGroup, "actions"> {
  readonly width: number;
  readonly ropeLength: number;
}

function logpsTogether(
  model: Sa2vaModel,
  weights: Weights,
  groups: readonly SizedGroup[],
  sampler: SamplerSettings,
): CaptionLogps[] {
  const width = Math.max(...groups.map((group) => group.width));
  const ropeLength = Math.max(...groups.map((group) => group.ropeLength));
  const targets = groups.flatMap(({ completions }) =>
    completions.map(({ ids }) => Array.from({ length: width }, (_, t) => ids[t] ?? 0)),
  );
  const rows = targets.length;
  return tf.tidy(() => {
    const hidden = statesOf(model, weights, groups, targets, ropeLength);
    const ids = tf.tensor1d(targets.flat(), "int32");
    const { logp, entropy } = languageScores(weights, hidden, ids, sampler.temperature, sampler.guard);
    let from = 0;
    return groups.map((group): CaptionLogps => {
      const count = group.completions.length;
      from += count;
      const cut = (values: Tensor): Tensor => {
        const grid = values.reshape([rows, width]);
        return groups.length === 1 ? grid : tf.slice(grid, [from - count, 0], [count, group.width]);
      };
      return { logps: cut(logp), entropies: cut(entropy) };
    }) as unknown as tf.TensorContainer;
  }) as unknown as CaptionLogps[];
}

/**
 * Hidden states that predict the tokens of completions, [rows · width, D]. Each prompt runs once for its completions.
 * @param targets [rows][width], the same number of rows for each of `groups`
 */
export function statesOf(
  model: Sa2vaModel,
  weights: Weights,
  groups: readonly Pick<SizedGroup, "features" | "prompt">[],
  targets: readonly (readonly number[])[],
  ropeLength: number,
): Tensor {
  const [rows, width] = [targets.length, (targets[0] as readonly number[]).length];
  return tf.tidy(() => {
    const pictures = groups.map(({ features }) => ({ tiles: features.tiles, vision: shownVision(features) }));
    const visuals = projectImages(model, weights, pictures);
    const { hiddenSize } = model.config.language;
    const starts = groups.map(({ prompt }, at) => {
      const whole = embedPrompt(model, weights, prompt, prompt.ids, visuals[at] as Tensor, promptRegions(prompt));
      const [, length, size] = whole.shape as [number, number, number];
      return {
        prefix: tf.slice(whole, [0, 0, 0], [1, length - 1, size]),
        last: tf.slice(whole, [0, length - 1, 0], [1, 1, hiddenSize]),
      };
    });
    const lasts = starts.length === 1 ? (starts[0]?.last as Tensor) : tf.concat(starts.map(({ last }) => last));
    // Inputs are the last prompt token and all sampled tokens except the last: position t predicts token t.
    const first = repeatRows(lasts, rows / groups.length);
    const sampled =
      width === 1
        ? []
        : [
            embedIds(
              model,
              weights,
              targets.map((row) => row.slice(0, -1)),
            ),
          ];
    const places = groups.map(({ prompt }) => promptPlaces(model.config.language, prompt, prompt.ids.length));
    const hidden = atOnce(
      statesBehind(
        weights,
        model.config.language,
        starts.map(({ prefix }) => prefix),
        sampled.length === 0 ? first : tf.concat([first, ...sampled], 1),
        ropeLength,
        { places },
      ),
    );
    return hidden.reshape([rows * width, -1]);
  });
}
