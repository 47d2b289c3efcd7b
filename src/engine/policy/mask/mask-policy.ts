/**
 * Mask policies of loop 2: they decide where randomness enters, and therefore what can learn
 * (docs/spec/grpo.md#20-making-a-mask-a-stochastic-action). A policy samples a few masks from the decoder's output and
 * can recompute the log-probability of those samples from the output of other weights.
 */
import type { RandomKey } from "../../gpu/random.ts";
import { type Tensor, tf } from "../../gpu/tf.ts";
import type { DecodedMasks } from "../../model/sam2/mask-decoder.ts";
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
  readonly weights: readonly number[] | null;
  /** Whether log-probabilities depend on the decoded masks, not only on the [SEG] state. */
  readonly readsMasks: boolean;
  /** [N·T] 1 where an action counts; all of them if absent. */
  readonly active?: Float32Array;
  /** Sampled answers of a policy whose actions are their tokens, one per rollout. */
  readonly answers?: readonly SampledAnswer[];
  /** Log-probabilities and entropies [N, T] of the same actions under other weights; differentiable. */
  logProbs(output: PhraseOutput): { readonly logps: Tensor; readonly entropies: Tensor };
  /**
   * For a policy that does not learn by policy gradient: a supervised loss (scalar, differentiable) that pulls the mask
   * towards the sampled ones, weighted by `shares` [N] (≥ 0, sum 1).
   */
  readonly imitate?: (output: PhraseOutput, shares: readonly number[]) => Tensor;
  /** For a policy that learns from the likelihood of the caption: logits of the mask that is trained, [1, h, w]. */
  readonly chosen?: (output: PhraseOutput) => Tensor;
  dispose(): void;
}

export interface SampledAnswer {
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
