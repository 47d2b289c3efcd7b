import { type Tensor, tf } from "../tf.ts";

export interface TokenScores {
  /** log softmax(z/τ)[id], [N]. */
  readonly logp: Tensor;
  /** −Σ p log p in nats of the tempered distribution, [N]. */
  readonly entropy: Tensor;
}

/**
 * Log-probability of chosen ids and entropy of their distributions. Logits are clipped to ±guard before temperature;
 * a clipped logit has zero gradient (reference: grpo.md §3).
 * @param logits [N, V]
 * @param ids [N] int32
 * @param temperature τ > 0
 * @param guard clip bound, Infinity for none
 */
export function tokenScores(logits: Tensor, ids: Tensor, temperature: number, guard: number): TokenScores {
  const [logp, entropy] = tf.tidy(() => {
    const width = logits.shape[1] as number;
    const guarded = Number.isFinite(guard) ? clipOpen(logits, guard) : logits;
    const logProbs = tf.logSoftmax(guarded.div(temperature) as tf.Tensor2D);
    const chosen = logProbs.mul(tf.oneHot(ids.toInt() as tf.Tensor1D, width)).sum(-1);
    return [chosen, logProbs.exp().mul(logProbs).sum(-1).neg()];
  }) as [Tensor, Tensor];
  return { logp, entropy };
}

/** Clip whose gradient is 1 strictly inside ±bound and 0 at and beyond it. */
export function clipOpen(x: Tensor, bound: number): Tensor {
  return tf.tidy(() => x.clipByValue(-bound, bound));
}
