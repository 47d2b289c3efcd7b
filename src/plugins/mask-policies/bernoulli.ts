/** Pixels of a mask as independent actions (docs/spec/grpo.md#20-making-a-mask-a-stochastic-action). */
import { type Tensor, tf } from "../../engine/gpu/tf.ts";
import { logSigmoid } from "../../engine/policy/mask/mask-policy.ts";

/**
 * log p of each pixel of a binary mask, m·log s(z) + (1-m)·log s(-z) with z = logits / τ. Broadcasts: logits [H, W],
 * masks [N, H, W] → [N, H, W].
 */
export function bernoulliLogProb(logits: Tensor, masks: Tensor, temperature: number): Tensor {
  return tf.tidy(() => logSigmoid(masks.mul(2).sub(1).mul(logits.div(temperature))));
}

/** Entropy of each pixel, nats. */
export function bernoulliEntropy(logits: Tensor, temperature: number): Tensor {
  return tf.tidy(() => {
    const z = logits.div(temperature);
    const on = z.sigmoid().mul(logSigmoid(z));
    return on.add(z.neg().sigmoid().mul(logSigmoid(z.neg()))).neg();
  });
}

/** 1 where the uniform is below sigmoid(logit / τ). `uniforms` may hold several masks one after another. */
export function sampleBernoulli(
  logits: ArrayLike<number>,
  temperature: number,
  uniforms: ArrayLike<number>,
): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: uniforms.length }, (_, i) => {
    const z = (logits[i % logits.length] as number) / temperature;
    return Number((uniforms[i] as number) < 1 / (1 + Math.exp(-z)));
  });
}
