/** The policies by name, and two of them: Gaussian on [SEG] and imitation. */
import type { LabConfig } from "../../engine/config/table.ts";
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { recipeLoss } from "../../engine/model/mask-loss.ts";
import { samplerSettings } from "../../engine/policy/decode/sampler.ts";
import { fieldPolicy } from "../../engine/policy/mask/field-policy.ts";
import {
  deviationOf,
  drawNoise,
  gaussianScores,
  type Noise,
  noiseOf,
} from "../../engine/policy/mask/gaussian-actions.ts";
import { argMax, bestCandidate, bestIndex, type MaskPolicy } from "../../engine/policy/mask/mask-policy.ts";
import { answerPolicy } from "./answer-policy.ts";
import { pathwisePolicy } from "./pathwise.ts";
import { pixelPolicy } from "./pixel-policy.ts";

export const maskPolicies = {
  embedding: (config) => embeddingPolicy(noiseOf(config, config.embeddingSigma)),
  pixels: (config) => pixelPolicy(config.pixelTemperature),
  answer: (config) => answerPolicy(samplerSettings(config), config.maxCompletionLength, config.appendSegment),
  imitation: (config) => imitationPolicy(config.fieldGrid, noiseOf(config, config.fieldSigma), config.fieldBand),
  pathwise: (config) => pathwisePolicy(config.candidateTemperature, config.pixelTemperature),
} as const satisfies Readonly<Record<string, (config: LabConfig) => MaskPolicy>>;

/**
 * "Gaussian on [SEG]": the mean is the mask decoder's language prompt, the action adds Gaussian noise to each of its
 * channels, and the decoder turns the noisy prompts into masks. Masks are coherent and the log-probability is exact,
 * but the decoder comes after the sampling and gets no gradient.
 * @param noise relative to the prompt's standard deviation over its channels, or absolute
 */
export function embeddingPolicy(noise: Noise): MaskPolicy {
  return async (output, count, draws) => {
    const width = output.language.shape[1] as number;
    const deviation = await deviationOf(noise, output.language, 1e-4);
    const drawn = drawNoise(noise, draws, count, width, deviation);
    const action = tf.tidy(() => output.language.add(tf.tensor2d(drawn, [count, width])));
    const quiet = output.decoded();
    const noisy = output.decode(action);
    const [own, ...scores] = await candidateScores([quiet.iou, noisy.iou], 1 + count);
    const greedy = bestCandidate(quiet, argMax(own as readonly number[]));
    const logits = tf.tidy(() => {
      const [, , height, side] = noisy.masks.shape as [number, number, number, number];
      return tf.concat(
        scores.map((row, n) =>
          tf.slice(noisy.masks, [n, 1 + argMax(row), 0, 0], [1, 1, height, side]).reshape([1, height, side]),
        ),
        0,
      );
    });
    tf.dispose([noisy.masks, noisy.iou, noisy.objectScore]);

    const { logps, entropies, scoresOf } = gaussianScores(drawn, deviation);
    return {
      logits,
      greedy,
      labels: Array.from({ length: count }, () =>
        Array.from({ length: width }, (_, c) => ({ id: c, label: `channel ${c}` })),
      ),
      logps,
      entropies,
      actions: width,
      probabilities: null,
      readsMasks: false,
      logProbs: (other) => scoresOf(action, other.language),
      dispose() {
        action.dispose();
      },
    };
  };
}

/** Predicted IoU of candidates 1…3 for the rows of several [B, 4] tensors, read back. */
async function candidateScores(tensors: readonly Tensor[], rows: number): Promise<number[][]> {
  const values = await Promise.all(tensors.map((tensor) => tensor.data()));
  const flat = values.flatMap((array) => Array.from(array));
  return Array.from({ length: rows }, (_, n) => flat.slice(n * 4 + 1, n * 4 + 4));
}

/**
 * "Reward-weighted imitation": no policy gradient. Masks are drawn as by the coarse Gaussian field, and cross-entropy
 * and Dice pull the decoder towards them, each weighted by its share of the group's reward. It is the control that
 * shows what the policy gradient adds (docs/spec/grpo.md#20-making-a-mask-a-stochastic-action I and K). Takes the
 * parameters of `fieldPolicy`.
 */
function imitationPolicy(grid: number, noise: Noise, band: number): MaskPolicy {
  const field = fieldPolicy(grid, noise, band);
  return async (output, count, draws) => {
    const sampledMasks = await field(output, count, draws);
    const index = await bestIndex(output.decoded());
    const drawn = tf.tidy(() => sampledMasks.logits.greater(0).toFloat());
    return {
      ...sampledMasks,
      loss(other, { rewards }) {
        const value = tf.tidy(() => {
          const [, height, width] = drawn.shape as [number, number, number];
          const mask = bestCandidate(other.decoded(), index);
          const losses = rewardShares(rewards).map((share, n) => {
            return recipeLoss(mask, tf.slice(drawn, [n, 0, 0], [1, height, width])).mul(share);
          });
          // Not addN, which binds all losses at once: devices bind few buffers.
          return losses.reduce((sum, loss) => sum.add(loss));
        });
        return { name: "imitation", weight: 1, value };
      },
      dispose() {
        sampledMasks.dispose();
        drawn.dispose();
      },
    };
  };
}

/**
 * Each rollout's share of the group's reward; equal shares if the sum is 0. Missing and negative rewards get no share.
 */
function rewardShares(rewards: readonly (number | null)[]): number[] {
  const scores = rewards.map((reward) => Math.max(0, reward ?? 0));
  const total = scores.reduce((sum, reward) => sum + reward, 0);
  return scores.map((reward) => (total > 0 ? reward / total : 1 / rewards.length));
}
