import { beforeAll, describe, expect, it } from "vitest";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import * as masks from "../../../src/engine/policy/mask/mask-policy.ts";
import * as pixels from "../../../src/plugins/mask-policies/bernoulli.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const number = (x: Tensor): number => x.dataSync()[0] as number;

describe("mask distributions", () => {
  it("the probabilities of all masks of three pixels sum to 1, and entropy and KL are their expectations", () => {
    const logits = tf.tensor1d([0.3, -1.2, 2]);
    const ref = tf.tensor1d([0, 0.4, 1]);
    const all = tf.tensor2d(Array.from({ length: 8 }, (_, k) => [k & 1, (k >> 1) & 1, (k >> 2) & 1]));
    const logp = pixels.bernoulliLogProb(logits, all, 0.7).sum(1);
    const logq = pixels.bernoulliLogProb(ref, all, 0.7).sum(1);
    const p = logp.exp();
    expect(number(p.sum())).toBeCloseTo(1, 6);
    expect(number(p.mul(logp).sum().neg())).toBeCloseTo(number(pixels.bernoulliEntropy(logits, 0.7).sum()), 5);
    expect(number(p.mul(logp.sub(logq)).sum())).toBeCloseTo(number(masks.bernoulliKl(logits, ref, 0.7).sum()), 5);
  });

  it("stays finite, with gradient, at extreme logits", () => {
    const logits = tf.tensor1d([-300, 300, 0]);
    const grad = tf.grad((z) => pixels.bernoulliLogProb(z as Tensor, tf.tensor1d([1, 0, 1]), 1).sum())(logits);
    expect(Array.from(grad.dataSync())).toEqual([1, -1, 0.5]);
    expect(number(pixels.bernoulliLogProb(logits, tf.tensor1d([1, 0, 1]), 1).sum())).toBeCloseTo(-600.693, 2);
    expect(number(pixels.bernoulliEntropy(logits, 1).sum())).toBeCloseTo(Math.LN2, 5);
  });

  it("samples pixels below their probability", () => {
    expect(Array.from(pixels.sampleBernoulli([0, 2], 1, [0.49, 0.9, 0.51, 0.87]))).toEqual([1, 0, 0, 1]);
  });

  it("the Gaussian density integrates to 1", () => {
    const points = Array.from({ length: 4001 }, (_, i) => -20 + i * 0.01);
    const logStd = tf.tensor1d([0.3]);
    const logp = masks.gaussianLogProbs(tf.tensor2d(points, [4001, 1]), tf.tensor1d([0.5]), logStd);
    expect(number(logp.exp().sum().mul(0.01))).toBeCloseTo(1, 4);
    expect(number(masks.gaussianEntropy(logStd))).toBeCloseTo(number(logp.exp().mul(logp).sum().mul(-0.01)), 3);
  });
});
