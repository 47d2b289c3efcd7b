/**
 * Distributions that turn a mask into an action with a log-probability
 * (docs/spec/grpo.md#20-making-a-mask-a-stochastic-action). Log-probs, exact KL and entropy are differentiable tensor
 * functions; samplers work on the CPU from given uniforms or normals, so that the noise can be stored and the sample
 * redrawn.
 */
import { type Tensor, tf } from "../../gpu/tf.ts";

/**
 * log sigmoid(z), stable for large |z|. Not `tf.logSigmoid`: its gradient reads the input without saving it, and an
 * input made inside a `tidy` is freed by then.
 */
function logSigmoid(z: Tensor): Tensor {
  return tf.softplus(z.neg()).neg();
}

// ---- independent pixels (option C) --------------------------------------------------------------------------------

/**
 * log p of each pixel of a binary mask, m·log s(z) + (1-m)·log s(-z) with z = logits / τ. Broadcasts: logits [H, W],
 * masks [N, H, W] → [N, H, W].
 */
export function bernoulliLogProb(logits: Tensor, masks: Tensor, temperature: number): Tensor {
  return tf.tidy(() => logSigmoid(masks.mul(2).sub(1).mul(logits.div(temperature))));
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

// ---- diagonal Gaussian: query embedding, mask coefficients or a coarse grid of logits (options D, E, F) --------------

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
