/** The caption policy of loop 1: a group of captions of one marked region, and their log-probabilities. */
import { repeatRows } from "../gpu/kernels/repeat.ts";
import { type Tensor, tf } from "../gpu/tf.ts";
import { languageForward, languageScores } from "../model/language.ts";
import type { Sa2vaModel } from "../model/sa2va.ts";
import type { Weights } from "../model/weights.ts";
import { embedIds, embedPrompt, projectImage } from "./embedding.ts";
import type { ImageFeatures } from "./features.ts";
import type { Completion } from "./generate.ts";
import type { PromptBatch } from "./prefill.ts";
import type { CaptionPrompt } from "./prompts.ts";
import type { SamplerSettings } from "./sampler.ts";

/** Prompt of a group: everything but its last token is shared, the last one is each rollout's tail. */
export function captionBatch(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  prompt: CaptionPrompt,
  rollouts: number,
): PromptBatch {
  const [prefix, tails] = tf.tidy(() => {
    const whole = embedPrompt(model, weights, prompt, prompt.ids, projectImage(weights, features), prompt.cells);
    const [, length, width] = whole.shape as [number, number, number];
    const last = tf.slice(whole, [0, length - 1, 0], [1, 1, width]);
    return [tf.slice(whole, [0, 0, 0], [1, length - 1, width]), repeatRows(last, rollouts)];
  }) as [Tensor, Tensor];
  return { prefix, tails, tailLengths: new Array<number>(rollouts).fill(1), promptIds: prompt.ids };
}

/**
 * log π and entropy of sampled captions under `weights`, [N, T]; the prompt runs once for the group and its gradient
 * sums over the rollouts. T is the longest completion, at least `actions`. Same guard, temperature and rotation as the
 * sampler, or the on-policy ratio would not be 1.
 * @param maxNewTokens what the sampler was allowed; by default T, as in a pass over whole sequences
 */
export function captionLogProbs(
  model: Sa2vaModel,
  weights: Weights,
  features: ImageFeatures,
  prompt: CaptionPrompt,
  completions: readonly Completion[],
  sampler: SamplerSettings,
  actions = 1,
  maxNewTokens?: number,
): { readonly logps: Tensor; readonly entropies: Tensor } {
  const rows = completions.length;
  const width = Math.max(actions, ...completions.map((completion) => completion.ids.length));
  const targets = completions.map((completion) => Array.from({ length: width }, (_, t) => completion.ids[t] ?? 0));
  const [logps, entropies] = tf.tidy(() => {
    const batch = captionBatch(model, weights, features, prompt, rows);
    const ropeLength = prompt.ids.length + (maxNewTokens ?? width);
    const { cache } = languageForward(weights, model.config.language, batch.prefix, { ropeLength });
    // Inputs are the last prompt token and all sampled tokens but the last: position t predicts token t.
    const inputs =
      width === 1
        ? batch.tails
        : tf.concat(
            [
              batch.tails,
              embedIds(
                model,
                weights,
                targets.map((row) => row.slice(0, -1)),
              ),
            ],
            1,
          );
    const { hidden } = languageForward(weights, model.config.language, inputs, { past: cache, ropeLength });
    const ids = tf.tensor1d(targets.flat(), "int32");
    const places = hidden.reshape([rows * width, -1]);
    const scores = languageScores(weights, places, ids, sampler.temperature, sampler.guard);
    return [scores.logp.reshape([rows, width]), scores.entropy.reshape([rows, width])];
  }) as [Tensor, Tensor];
  return { logps, entropies };
}
