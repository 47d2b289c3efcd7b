import { beforeAll, expect, test } from "vitest";
import { normal } from "../../../src/engine/gpu/random.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import { fieldPolicy, poolCells } from "../../../src/engine/policy/mask/field-policy.ts";
import type { Noise } from "../../../src/engine/policy/mask/gaussian-actions.ts";
import type { MaskDraws } from "../../../src/engine/policy/mask/mask-policy.ts";
import type { PhraseOutput } from "../../../src/engine/policy/phrase-output.ts";
import { topEntropyMask } from "../../../src/engine/rl/objective/loss.ts";
import { TENSORS } from "../../../src/engine/rl/objective/loss-arrays.ts";
import { embeddingPolicy } from "../../../src/plugins/mask-policies/policies.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const DRAWS: MaskDraws = {
  normal: (rollout, position) => normal({ seed: 3, step: 1, loop: 2, row: 0, rollout, position, stream: 1 }),
  uniform: () => 0.5,
};

/** What a decoder might give: four candidates of 8 × 8 logits and a prompt of 6 channels, times `scale`. */
function output(scale: number): PhraseOutput {
  const wave = (count: number, seed: number) =>
    Float32Array.from({ length: count }, (_, i) => scale * Math.sin(seed + 0.7 * i));
  const decoded = () => ({
    masks: tf.tensor4d(wave(256, 1), [1, 4, 8, 8]),
    iou: tf.tensor2d([[0.1, 0.2, 0.9, 0.3]]),
    objectScore: tf.tensor2d([[1]]),
  });
  return { language: tf.tensor2d(wave(6, 2), [1, 6]), decoded, decode: decoded } as unknown as PhraseOutput;
}

/** How far the sampled field is from the mean, root mean square. */
async function fieldNoise(noise: Noise, scale: number): Promise<number> {
  const acted = await fieldPolicy(4, noise)(output(scale), 5, DRAWS);
  const gap = await (acted.logits as Tensor).sub(acted.greedy).square().mean().sqrt().data();
  acted.dispose();
  return gap[0] as number;
}

test("relative noise grows with the logits, absolute noise does not", async () => {
  for (const [unit, growth] of [
    ["relative", 10],
    ["absolute", 1],
  ] as const) {
    const small = await fieldNoise({ sigma: 0.4, unit }, 1);
    expect((await fieldNoise({ sigma: 0.4, unit }, 10)) / small).toBeCloseTo(growth, 3);
  }
});

test.each([
  ["field", (noise: Noise) => fieldPolicy(4, noise)],
  ["embedding", (noise: Noise) => embeddingPolicy(noise)],
] as const)(
  "the %s policy gives the same log-probabilities where it samples and where it trains",
  async (_, policy) => {
    for (const unit of ["relative", "absolute"] as const) {
      const from = output(2);
      if (_ === "embedding") {
        const one = from.decoded();
        Object.assign(from, {
          decode: () => ({
            masks: tf.tile(one.masks, [3, 1, 1, 1]),
            iou: tf.tile(one.iou, [3, 1]),
            objectScore: tf.ones([3, 1]),
          }),
        });
      }
      const acted = await policy({ sigma: 0.3, unit })(from, 3, DRAWS);
      const again = acted.logProbs(from);
      const [logps, entropies] = [await again.logps.data(), await again.entropies.data()];
      acted.logps.forEach((value, at) => {
        expect(logps[at]).toBeCloseTo(value, 4);
        expect(entropies[at]).toBeCloseTo(acted.entropies[at] as number, 5);
      });
      acted.dispose();
    }
  },
);

test("antithetic rollouts are mirrored pairs, the first of each as without pairs", async () => {
  const plain = await fieldPolicy(4, { sigma: 0.4, unit: "absolute" })(output(1), 5, DRAWS);
  const paired = await fieldPolicy(4, { sigma: 0.4, unit: "absolute", antithetic: true })(output(1), 5, DRAWS);
  const noiseOf = async (acted: typeof plain): Promise<number[][]> =>
    (await acted.logits.sub(acted.greedy).reshape([5, 64]).array()) as number[][];
  const [apart, mirrored] = [await noiseOf(plain), await noiseOf(paired)];
  for (const pair of [0, 2]) {
    expect(mirrored[pair]).toEqual(apart[pair]);
    mirrored[pair + 1]?.forEach((value, at) => {
      expect(value).toBeCloseTo(-(mirrored[pair]?.[at] as number), 5);
    });
  }
  expect(mirrored[4]).toEqual(apart[4]);
  expect(Array.from(paired.logps.slice(16, 32))).toEqual(Array.from(paired.logps.slice(0, 16)));
});

test("a share of the most uncertain actions keeps the uncertain cells of a band, however narrow the noise", async () => {
  const acted = await fieldPolicy(4, { sigma: 0.01, unit: "absolute" }, 0.3)(output(2), 3, DRAWS);
  const kept = await topEntropyMask(tf.tensor2d(acted.entropies, [3, 16]), tf.ones([3, 16]), 0.2, TENSORS).data();
  const acting = Array.from(acted.logps.keys()).filter((at) => acted.logps[at] !== 0);
  expect(acting.length).toBeGreaterThan(0);
  for (const at of acting) expect(kept[at]).toBe(1);
  acted.dispose();
});

test("with a band only uncertain cells get noise and are actions, also where the policy trains", async () => {
  const band = 0.3;
  const [from, other] = [output(2), output(2.5)];
  const acted = await fieldPolicy(4, { sigma: 0.3, unit: "absolute" }, band)(from, 3, DRAWS);
  const means = await poolCells(acted.greedy, 4).data();
  const active = Array.from(means, (mean) => Math.abs(mean) < band);
  expect(new Set(active)).toEqual(new Set([true, false]));
  const { logps, entropies } = acted.logProbs(other);
  const [seen, spread] = [await logps.data(), await entropies.data()];
  for (let at = 0; at < 48; at++) {
    const acts = active[at % 16] as boolean;
    for (const value of [acted.logps[at], seen[at]]) {
      if (acts) expect(value).not.toBe(0);
      else expect(Math.abs(value as number)).toBe(0);
    }
    for (const value of [acted.entropies[at], spread[at]]) expect(value).toBeCloseTo(Math.log(0.3) + 1.41894, 4);
  }
  const slope = tf.grad((scale: Tensor) => {
    const { masks, ...rest } = from.decoded();
    const moved = { ...from, decoded: () => ({ masks: masks.mul(scale), ...rest }) };
    return acted.logProbs(moved).logps.sum();
  })(tf.ones([1, 4, 8, 8]));
  // The third candidate has the largest predicted IoU; a pixel of a certain cell has no slope.
  const pixels = (await slope.slice([0, 2, 0, 0], [1, 1, 8, 8]).data()) as Float32Array;
  pixels.forEach((value, at) => {
    const cell = 4 * Math.floor(at / 16) + Math.floor((at % 8) / 2);
    if (!active[cell]) expect(Math.abs(value)).toBe(0);
  });
  expect(pixels.some((value) => value !== 0)).toBe(true);
  acted.dispose();
});
