/**
 * Mask policies of loop 2: they decide where randomness enters, and therefore what can learn
 * (docs/spec/grpo.md#20-making-a-mask-a-stochastic-action). A policy samples a few masks from the decoder's output and
 * can recompute the log-probability of those samples from the output of other weights.
 */

import type { LabConfig } from "../../config/table.ts";
import type { TrainingRow } from "../../data/training-row.ts";
import type { RandomKey } from "../../gpu/random.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import { recipeLoss } from "../../model/mask-loss.ts";
import type { Sa2vaModel } from "../../model/sa2va.ts";
import type { DecodedMasks } from "../../model/sam2/mask-decoder.ts";
import type { FoundMask } from "../../model/sam2/postprocess.ts";
import type { Weights } from "../../model/weights/weights.ts";
import type { ImageFeatures } from "../features.ts";
import type { PhraseOutput } from "../phrase-output.ts";

export interface MaskActions {
  /** N masks as logits at the decoder's resolution, [N, h, w]; > 0 is inside. Owned by the caller. */
  readonly logits: Tensor;
  /** The mask without noise, [1, h, w]. Owned by the caller. */
  readonly greedy: Tensor;
  /** [N][T]. */
  readonly labels: readonly (readonly { readonly id: number; readonly label: string }[])[];
  /** [N·T]. */
  readonly logps: Float32Array;
  readonly entropies: Float32Array;
  /** T. */
  readonly actions: number;
  /** Probability of each rollout when the group is the whole action set; null for independent samples. */
  readonly probabilities: readonly number[] | null;
  /** Whether log-probabilities depend on the decoded masks, not only on the [SEG] state. */
  readonly readsMasks: boolean;
  /** [N·T] 1 where an action counts; all of them if absent. */
  readonly active?: Float32Array;
  /** Sampled answers of a policy whose actions are their tokens, one per rollout. */
  readonly answers?: readonly SampledAnswer[];
  /** Log-probabilities and entropies [N, T] of the same actions under other weights; differentiable. */
  logProbs(output: PhraseOutput): { readonly logps: Tensor; readonly entropies: Tensor };
  /** Whether its masks are those of the decoder, without noise, though the group is not the whole action set. */
  readonly unsampled?: true;
  /** For a policy that does not learn by policy gradient: the loss in its place, differentiable in the output. */
  readonly loss?: (output: PhraseOutput, facts: MaskLossFacts) => MaskLoss;
  dispose(): void;
}

/** A scalar loss, its weight in the loop's loss, and its name in the metrics. */
interface MaskLoss {
  readonly name: string;
  readonly weight: number;
  readonly value: Tensor;
}

/** What a loss in place of a policy gradient may use. */
export interface MaskLossFacts {
  readonly model: Sa2vaModel;
  readonly row: TrainingRow;
  readonly features: ImageFeatures;
  /** The mask without sampling. */
  readonly greedy: FoundMask;
  /** Of the trained rollouts; null where one is missing. */
  readonly rewards: readonly (number | null)[];
  /** Weights of the captioner that the settings name; absent if none is open. */
  readonly captioner: Weights | undefined;
  /** Clip bound of the language model's logits. */
  readonly logitGuard: number;
  /** 1; in the control experiment with shuffled rewards −1 at random. */
  readonly sign: number;
}

interface SampledAnswer {
  readonly text: string;
  /** Number of [SEG] in it. */
  readonly segments: number;
  /** Reached the length limit. */
  readonly truncated: boolean;
}

/** Counter-based draws of a group: pure functions of their address. */
export interface MaskDraws {
  normal(rollout: number, position: number): number;
  /** In (0, 1). */
  uniform(rollout: number, position: number): number;
  /** Address of a rollout's token draws; absent where no text is sampled. */
  readonly token?: (rollout: number) => RandomKey;
}

/** @param count rollouts of the group; ignored by a policy whose group is its whole action set */
export type MaskPolicy = (output: PhraseOutput, count: number, draws: MaskDraws) => Promise<MaskActions>;

/** The number of candidates that SAM2 offers for a language prompt; candidate 0 of the decoder is never used. */
export const CANDIDATES = 3;

/** Logits of candidates 1…3 of the first row, [3, h, w]. */
export function candidateLogits(decoded: DecodedMasks): Tensor {
  return tf.tidy(() => {
    const [, , height, width] = decoded.masks.shape as [number, number, number, number];
    return tf.slice(decoded.masks, [0, 1, 0, 0], [1, CANDIDATES, height, width]).reshape([CANDIDATES, height, width]);
  });
}

/** log softmax(predicted IoU / τ) of the three candidates, [3]. */
export function candidateLogProbs(decoded: Pick<DecodedMasks, "iou">, temperature: number): Tensor {
  return tf.tidy(() => {
    const scores = tf.slice(decoded.iou, [0, 1], [1, CANDIDATES]).div(temperature);
    return tf.logSoftmax(scores as tf.Tensor2D).reshape([CANDIDATES]);
  });
}

/** Index 0…2 of the candidate with the largest predicted IoU, as `selectMask` chooses it. */
export async function bestIndex({ iou }: Pick<DecodedMasks, "iou">): Promise<number> {
  return argMax(((await iou.data()) as Float32Array).subarray(1, 1 + CANDIDATES));
}

/** Logits of a candidate, [1, h, w]; differentiable in the masks, not in the choice. */
export function bestCandidate(decoded: DecodedMasks, index: number): Tensor {
  return tf.tidy(() => {
    const [, , height, width] = decoded.masks.shape as [number, number, number, number];
    return tf.slice(decoded.masks, [0, 1 + index, 0, 0], [1, 1, height, width]).reshape([1, height, width]);
  });
}

export function argMax(values: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < values.length; i++) if ((values[i] as number) > (values[best] as number)) best = i;
  return best;
}

// Distributions that turn a mask into an action with a log-probability
// (docs/spec/grpo.md#20-making-a-mask-a-stochastic-action). Log-probs, exact KL and entropy are differentiable tensor
// functions; samplers work on the CPU from given uniforms or normals, so that the noise can be stored and the sample
// redrawn.

/**
 * log sigmoid(z), stable for large |z|. Not `tf.logSigmoid`: its gradient reads the input without saving it, and an
 * input made inside a `tidy` is freed by then.
 */
export function logSigmoid(z: Tensor): Tensor {
  return tf.softplus(z.neg()).neg();
}

/** KL(policy, reference) of each pixel, nats; same shape as the logits. */
export function bernoulliKl(logits: Tensor, refLogits: Tensor, temperature: number): Tensor {
  return tf.tidy(() => {
    const z = logits.div(temperature);
    const ref = refLogits.div(temperature);
    const on = z.sigmoid().mul(logSigmoid(z).sub(logSigmoid(ref)));
    const off = z
      .neg()
      .sigmoid()
      .mul(logSigmoid(z.neg()).sub(logSigmoid(ref.neg())));
    return on.add(off);
  });
}

// Diagonal Gaussian: query embedding, mask coefficients or a coarse grid of logits (options D, E, F).

/**
 * log density per dimension of actions [N, D] under mean [D] or [N, D] and log deviation (any shape that broadcasts),
 * [N, D].
 */
export function gaussianLogProbs(actions: Tensor, mean: Tensor, logStd: Tensor): Tensor {
  return tf.tidy(() => {
    const standard = actions.sub(mean).mul(logStd.neg().exp());
    return standard
      .square()
      .mul(-0.5)
      .sub(logStd)
      .sub(0.5 * Math.log(2 * Math.PI));
  });
}

/** Entropy per dimension, nats: log σ + ½ log(2πe). */
export function gaussianEntropy(logStd: Tensor): Tensor {
  return tf.tidy(() => logStd.add(0.5 * Math.log(2 * Math.PI * Math.E)));
}

// Anchors of loop 2, which keep the mask decoder from drifting. The reward of a caption depends little on the
// exact shape of a mask, so most of its gradient is noise. An anchor keeps the masks close to those at the run's
// start, or to the true mask.

export interface MaskAnchor {
  /** Scalar, differentiable in the weights behind `output`. */
  loss(output: PhraseOutput): Tensor;
  dispose(): void;
}

/** Whether the settings turn an anchor on. */
export function wantsAnchor(config: LabConfig): boolean {
  return config.maskAnchor !== "none" && config.maskAnchorWeight !== 0;
}

/**
 * @param start output of the run's starting weights for the same phrase; used only during the call
 * @param truth share of each decoder pixel that the region covers, row-major, at the size of the decoded masks
 */
export async function maskAnchor(
  config: LabConfig,
  start: PhraseOutput,
  truth: (height: number, width: number) => Float32Array,
): Promise<MaskAnchor> {
  return config.maskAnchor === "start" ? startAnchor(start) : await truthAnchor(start, truth);
}

/** KL(policy ‖ start) of every pixel as a Bernoulli variable, mean over the pixels of the three candidates, nats. */
function startAnchor(start: PhraseOutput): MaskAnchor {
  const reference = candidateLogits(start.decoded());
  return {
    loss: (output) => tf.tidy(() => bernoulliKl(candidateLogits(output.decoded()), reference, 1).mean()),
    dispose: () => reference.dispose(),
  };
}

/** Cross-entropy and Dice to the region's mask, for the candidate that the starting weights choose. */
async function truthAnchor(
  start: PhraseOutput,
  truth: (height: number, width: number) => Float32Array,
): Promise<MaskAnchor> {
  const index = await bestIndex(start.decoded());
  const [, , height, width] = start.decoded().masks.shape as [number, number, number, number];
  const target = tf.tensor3d(truth(height, width), [1, height, width]);
  return {
    loss: (output) => tf.tidy(() => recipeLoss(bestCandidate(output.decoded(), index), target)),
    dispose: () => target.dispose(),
  };
}
