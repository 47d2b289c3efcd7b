/** The mask's part of the log-probability of [SEG], against torch (tests/oracle/make_mask_logp.py). */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { maskLogProb, onGrid } from "../../src/plugins/mask-policies/answer-policy.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

interface Case {
  readonly height: number;
  readonly width: number;
  readonly sampled: readonly [number, number, number];
  readonly forward: readonly [number, number, number];
  readonly logps: readonly number[];
  /** Share of the cells of each rollout's mask. */
  readonly inside: readonly number[];
  readonly gradient: {
    readonly weights: readonly number[];
    readonly norm: number;
    readonly at: readonly (readonly [number, number, number, number])[];
  };
}
const path = fileURLToPath(new URL("./mask-logp/values.json", import.meta.url));
const CASES = JSON.parse(readFileSync(path, "utf8")) as readonly Case[];

function waves({ height, width }: Case, [a, b, c]: readonly [number, number, number]): Tensor {
  const values = Array.from({ length: 3 * height * width }, (_, i) => {
    const [n, y, x] = [Math.floor(i / (height * width)), Math.floor(i / width) % height, i % width];
    return a * Math.sin(0.37 * x + n) + b * Math.cos(0.23 * y * (n + 1)) + c * Math.sin(0.011 * x * y);
  });
  return tf.tensor3d(values, [3, height, width]);
}

test.each(CASES.map((own, at) => [at, own] as const))("case %i equals torch, with its gradient", async (_, own) => {
  const target = onGrid(waves(own, own.sampled)).greater(0).toFloat();
  expect(target.shape).toEqual([3, 1024]);
  const inside = await target.mean(1).data();
  const logits = waves(own, own.forward);
  const logps = maskLogProb(onGrid(logits), target);
  expect(logps.shape).toEqual([3, 1]);
  const found = await logps.data();
  for (const n of [0, 1, 2]) {
    expect(inside[n]).toBeCloseTo(own.inside[n] as number, 6);
    expect((found[n] as number) / (own.logps[n] as number)).toBeCloseTo(1, 4);
    expect(found[n]).toBeLessThan(0);
  }
  const weights = tf.tensor2d([...own.gradient.weights], [3, 1]);
  const gradient = tf.grad((x) => maskLogProb(onGrid(x), target).mul(weights).sum())(logits);
  expect((await gradient.norm().data())[0]).toBeCloseTo(own.gradient.norm, 5);
  const values = await gradient.data();
  for (const [n, y, x, value] of own.gradient.at) {
    expect(values[(n * own.height + y) * own.width + x]).toBeCloseTo(value, 7);
  }
});
