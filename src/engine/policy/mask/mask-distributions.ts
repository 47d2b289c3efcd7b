/**
 * Distributions that turn a mask into an action with a log-probability
 * (docs/spec/grpo.md#20-making-a-mask-a-stochastic-action). Log-probs, exact KL and
 * entropy are differentiable tensor functions; samplers work on the CPU from given uniforms or normals, so that the noise
 * can be stored and the sample redrawn.
 */
import { type Tensor, tf } from "../../gpu/tf.ts";

/**
 * log sigmoid(z), stable for large |z|. Not `tf.logSigmoid`: its gradient reads the input without saving it, so an input
 * made inside a `tidy` is gone by then.
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

/** 1 where the uniform lies below sigmoid(logit / τ). `uniforms` may hold several masks one after the other. */
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

/** log density of actions [N, D] under mean [D] or [N, D] and log deviation [D] (or any shape that broadcasts) → [N]. */
export function gaussianLogProb(actions: Tensor, mean: Tensor, logStd: Tensor): Tensor {
  return tf.tidy(() => gaussianLogProbs(actions, mean, logStd).sum(-1));
}

/** The same per dimension, [N, D]: one action per grid cell. */
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

/** KL(policy, reference) per dimension; the deviations may differ. */
export function gaussianKl(mean: Tensor, logStd: Tensor, refMean: Tensor, refLogStd: Tensor): Tensor {
  return tf.tidy(() => {
    const gap = logStd.sub(refLogStd);
    const shift = mean.sub(refMean).mul(refLogStd.neg().exp());
    return gap.mul(2).exp().add(shift.square()).mul(0.5).sub(0.5).sub(gap);
  });
}

/** Entropy per dimension, nats: log σ + ½ log(2πe). */
export function gaussianEntropy(logStd: Tensor): Tensor {
  return tf.tidy(() => logStd.add(0.5 * Math.log(2 * Math.PI * Math.E)));
}

/** mean + exp(logStd)·normal; `normals` may hold several actions one after the other. */
export function sampleGaussian(
  mean: ArrayLike<number>,
  logStd: ArrayLike<number>,
  normals: ArrayLike<number>,
): Float64Array<ArrayBuffer> {
  return Float64Array.from({ length: normals.length }, (_, i) => {
    const d = i % mean.length;
    return (mean[d] as number) + Math.exp(logStd[d % logStd.length] as number) * (normals[i] as number);
  });
}

// ---- choice among candidates (option G) ---------------------------------------------------------------------------

/** log softmax(score / τ) over the last axis: [..., K] → [..., K]. */
export function choiceLogProbs(scores: Tensor, temperature: number): Tensor {
  return tf.tidy(() => tf.logSoftmax(scores.div(temperature)));
}

/** log-prob of one choice per row: log-probs [N, K], choices [N] int32 → [N]. */
export function chosenLogProb(logProbs: Tensor, choices: Tensor): Tensor {
  return tf.tidy(() => {
    const width = logProbs.shape.at(-1) as number;
    return logProbs.mul(tf.oneHot(choices.toInt() as tf.Tensor1D, width)).sum(-1);
  });
}

/** KL(policy, reference) summed over the candidates: [..., K] → [...]. */
export function choiceKl(logProbs: Tensor, refLogProbs: Tensor): Tensor {
  return tf.tidy(() => logProbs.exp().mul(logProbs.sub(refLogProbs)).sum(-1));
}

/** Entropy of the choice, nats: [..., K] → [...]. */
export function choiceEntropy(logProbs: Tensor): Tensor {
  return tf.tidy(() => logProbs.exp().mul(logProbs).sum(-1).neg());
}

/** First candidate whose running probability exceeds the uniform. */
export function sampleChoice(scores: ArrayLike<number>, temperature: number, uniform: number): number {
  const z = Array.from(scores, (score) => score / temperature);
  const max = z.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const weights = z.map((value) => Math.exp(value - max));
  const total = weights.reduce((a, b) => a + b, 0);
  let sum = 0;
  for (const [k, weight] of weights.entries()) {
    sum += weight / total;
    if (sum > uniform) return k;
  }
  return weights.length - 1;
}

// ---- binary Concrete (option H, 1611.00712) -----------------------------------------------------------------------

/** Pre-sigmoid relaxed mask l = (logit + log u - log(1-u)) / τ, differentiable in the logits; y = sigmoid(l). */
export function concreteSample(logits: Tensor, uniforms: Tensor, temperature: number): Tensor {
  return tf.tidy(() => {
    const logistic = uniforms.log().sub(tf.scalar(1).sub(uniforms).log());
    return logits.add(logistic).div(temperature);
  });
}

/** The relaxed mask cut at one half, with the gradient of the relaxed one (biased). */
export function straightThrough(relaxed: Tensor): Tensor {
  const cut = tf.customGrad((y) => ({
    value: (y as Tensor).greater(0.5).toFloat(),
    gradFunc: (dy: Tensor) => dy,
  }));
  return cut(relaxed);
}

/**
 * log density of the binary Concrete distribution at y = sigmoid(l), location logit `logits`, per pixel. Takes the
 * pre-sigmoid l: float32 cannot tell 1 - y from 0 where y is near 1.
 */
export function concreteLogDensity(logits: Tensor, preSigmoid: Tensor, temperature: number): Tensor {
  return tf.tidy(() => {
    // With c = a - τ·l: log p = log τ + c - 2·softplus(c) - log y - log(1 - y).
    const centred = logits.sub(preSigmoid.mul(temperature));
    const logVolume = logSigmoid(preSigmoid).add(logSigmoid(preSigmoid.neg()));
    return centred.sub(tf.softplus(centred).mul(2)).sub(logVolume).add(Math.log(temperature));
  });
}

/** Soft IoU of a relaxed mask with a target of the same shape: Σ y·t / Σ (y + t - y·t). */
export function softIou(y: Tensor, target: Tensor): tf.Scalar {
  return tf.tidy(() => {
    const overlap = y.mul(target);
    return overlap.sum().div(y.add(target).sub(overlap).sum()) as tf.Scalar;
  });
}
