/**
 * Losses that a model trained from scratch needs beside the published ones (docs/pocket-model.md): different candidates,
 * an IoU head that ranks them, a pointing loss for [SEG], and the names of things.
 */
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { BCE_WEIGHT, DICE_WEIGHT } from "../../src/engine/model/mask-loss.ts";

/** Candidates from which a mask is chosen; mask token 0 is never used. */
const CANDIDATES = 3;

/** A function of tensors whose result the tape treats as a constant. */
function constant(make: (x: Tensor) => Tensor): (x: Tensor) => Tensor {
  return tf.customGrad((x) => ({ value: make(x as Tensor), gradFunc: () => tf.zerosLike(x as Tensor) })) as (
    x: Tensor,
  ) => Tensor;
}

export interface CandidateLoss {
  /** Cross-entropy, scalar; unweighted, the caller applies the recipe's factors. */
  readonly bce: Tensor;
  readonly dice: Tensor;
  /** Mean squared error of the predicted IoU, scalar. */
  readonly iou: Tensor;
  /** IoU of each candidate, thresholded at logit 0, with the truth, [N, 3]; a constant. */
  readonly realIou: Tensor;
}

/**
 * Per-candidate losses: the best candidate of each mask has full weight, the others a small one, so that all keep a
 * gradient; the IoU head regresses the real IoU of all.
 * @param masks logits [N, 4, h, w]
 * @param iou predicted IoU [N, 4]
 * @param truth [N, h, w], 0..1
 * @param share weight of each candidate that is not the best, 0..1/2
 */
export function candidateLoss(masks: Tensor, iou: Tensor, truth: Tensor, share: number): CandidateLoss {
  const [bce, dice, error, realIou] = tf.tidy(() => {
    const [count, , height, width] = masks.shape as [number, number, number, number];
    const pixels = height * width;
    const z = masks.slice([0, 1, 0, 0], [count, CANDIDATES, height, width]).reshape([count, CANDIDATES, pixels]);
    const t = truth.reshape([count, 1, pixels]);
    const crossEntropy = z.softplus().sub(z.mul(t)).mean(2);
    const p = z.sigmoid();
    const overlap = p.mul(t).sum(2).mul(2).add(1);
    const dice = tf.scalar(1).sub(overlap.div(p.sum(2).add(t.sum(2)).add(1)));
    const weigh = constant((cost) =>
      tf.tidy(() => {
        const best = tf.oneHot(cost.argMin(1).toInt() as tf.Tensor1D, CANDIDATES).toFloat();
        return best.mul(1 - CANDIDATES * share).add(share);
      }),
    );
    const weights = weigh(crossEntropy.mul(BCE_WEIGHT).add(dice.mul(DICE_WEIGHT)));
    const real = constant((logits) =>
      tf.tidy(() => {
        const drawn = logits.greater(0).toFloat();
        const wanted = t.greater(0.5).toFloat();
        const both = drawn.mul(wanted).sum(2);
        return both.div(drawn.sum(2).add(wanted.sum(2)).sub(both).maximum(1));
      }),
    )(z);
    const predicted = iou.slice([0, 1], [count, CANDIDATES]);
    return [
      crossEntropy.mul(weights).sum().div(count),
      dice.mul(weights).sum().div(count),
      predicted.sub(real).square().mean(),
      real,
    ];
  }) as [Tensor, Tensor, Tensor, Tensor];
  return { bce, dice, iou: error, realIou };
}

/**
 * Cross-entropy between a region's position and where its [SEG] state points: a softmax, over the picture's tokens, of
 * the scaled products of final hidden states. It has no parameters.
 * @param seg [n, k, D]
 * @param visual [n, tokens, D]
 * @param share share of each region in each token, summing to 1, [n, k, tokens]
 */
export function pointingLoss(seg: Tensor, visual: Tensor, share: Tensor): Tensor {
  return tf.tidy(() => {
    const width = seg.shape[2] as number;
    const scores = tf.matMul(seg, visual, false, true).div(Math.sqrt(width));
    return tf
      .logSoftmax(scores as tf.Tensor3D)
      .mul(share)
      .sum(2)
      .mean()
      .neg();
  });
}

/**
 * Cross-entropy against distributions over the vocabulary; rows of zeros do not count.
 * @param logits [N, V]
 * @param target [N, V], each row summing to 1 or 0
 */
export function namingLoss(logits: Tensor, target: Tensor): Tensor {
  return tf.tidy(() =>
    tf
      .logSoftmax(logits as tf.Tensor2D)
      .mul(target)
      .sum()
      .neg()
      .div(target.sum().maximum(1)),
  );
}
