import { beforeAll, expect, test } from "vitest";
import { tf } from "../../../src/engine/gpu/tf.ts";
import { appliedCoefficient, meanEntropy, nextEntropyState } from "../../../src/engine/rl/objective/entropy-control.ts";
import { topEntropyMask } from "../../../src/engine/rl/objective/loss.ts";
import { TENSORS } from "../../../src/engine/rl/objective/loss-arrays.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const CONTROL = { target: 1, delta: 0.1, min: 0, max: 0.25 };

test("the bonus rises while entropy is at or below its target, falls above it, and stays within its bounds", () => {
  let state = { coefficient: 0.1, lastEntropy: null as number | null };
  const applied: number[] = [];
  for (const entropy of [0.5, 1, 0.9, 1.2, Number.NaN, 2, 3, 0.2]) {
    applied.push(appliedCoefficient(state, CONTROL));
    state = nextEntropyState(state, entropy, CONTROL);
  }
  // Nothing in the first update, nor after one above the target; NaN changes nothing.
  expect(applied).toEqual([0, 0.2, 0.25, 0.25, 0, 0, 0, 0].map((value) => expect.closeTo(value, 12)));
  expect(state.coefficient).toBeCloseTo(0.1, 12);
});

test("the mean is over the actions that keep their policy term", () => {
  const wave = (seed: number) => Array.from({ length: 24 }, (_, i) => 1 + Math.sin(seed + 2.4 * i));
  const groups = [1, 2, 3].map((seed) => ({ entropies: wave(seed), mask: wave(seed + 7).map((x) => Number(x > 0.6)) }));
  for (const share of [1, 0.7, 0.33, 0.1, 0]) {
    let [sum, count] = [0, 0];
    for (const { entropies, mask } of groups) {
      const kept = tf.tidy(() =>
        topEntropyMask(tf.tensor2d(entropies, [4, 6]), tf.tensor2d(mask, [4, 6]), share, TENSORS).dataSync(),
      );
      kept.forEach((keeps, at) => {
        sum += keeps * (entropies[at] as number);
        count += keeps;
      });
    }
    expect(meanEntropy(groups, share), `share ${share}`).toBeCloseTo(sum / count, 12);
  }
  expect(meanEntropy([], 1)).toBeNaN();
});
