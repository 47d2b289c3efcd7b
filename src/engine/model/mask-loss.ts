/**
 * Supervised mask losses on low-resolution logits: cross-entropy and Dice over all pixels
 * (docs/spec/sa2va.md#18-supervised-training-recipe). Differentiable in the logits.
 */
import { type Tensor, tf } from "../gpu/tf.ts";

export interface MaskLoss {
  /** Binary cross-entropy, scalar, unweighted. */
  readonly bce: Tensor;
  /** Dice loss 0..1, scalar, unweighted. */
  readonly dice: Tensor;
}

/** Weights of the published recipe. */
export const BCE_WEIGHT = 2;
export const DICE_WEIGHT = 0.5;

/** The weighted sum of both losses over all pixels, scalar. */
export function recipeLoss(logits: Tensor, truth: Tensor): Tensor {
  return tf.tidy(() => {
    const { bce, dice } = maskLoss(logits, truth);
    return bce.mul(BCE_WEIGHT).add(dice.mul(DICE_WEIGHT));
  });
}

/**
 * Both losses over all pixels: cross-entropy as the mean over pixels and masks, Dice per mask and then the mean.
 * @param logits [N, ...]
 * @param truth same shape, 0..1
 */
export function maskLoss(logits: Tensor, truth: Tensor): MaskLoss {
  const [bce, dice] = tf.tidy(() => {
    const [z, t] = flattened(logits, truth);
    return [crossEntropy(z, t).mean(), diceRows(z, t).mean()];
  }) as [Tensor, Tensor];
  return { bce, dice };
}

/** Masks as rows, [N, pixels]. */
export function flattened(logits: Tensor, truth: Tensor): [Tensor, Tensor] {
  const count = logits.shape[0] as number;
  return [logits.reshape([count, -1]), truth.reshape([count, -1])];
}

/** log(1 + e^z) − z·t, element by element. */
export function crossEntropy(z: Tensor, t: Tensor): Tensor {
  return z.softplus().sub(z.mul(t));
}

/** 1 − (2 Σpt + 1) / (Σp + Σt + 1) with p = sigmoid(z), per row. */
export function diceRows(z: Tensor, t: Tensor): Tensor {
  const p = z.sigmoid();
  const overlap = p.mul(t).sum(1).mul(2).add(1);
  return tf.scalar(1).sub(overlap.div(p.sum(1).add(t.sum(1)).add(1)));
}
