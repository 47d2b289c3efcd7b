import { beforeAll, describe, expect, it } from "vitest";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { detailedLoss } from "../../src/engine/rl/objective/loss.ts";
import { lossSettings } from "../../src/engine/rl/objective/loss-types.ts";
import { inspectGradients, judgeGradients } from "../../src/engine/rl/optim/monitor.ts";
import { ADAM_DEFAULTS, AdamState, applyAdamw, disposeSet } from "../../src/engine/rl/optim/optimiser.ts";
import { useGpu } from "../support/gpu.ts";

beforeAll(async () => {
  await useGpu();
});

const ROWS = 3;
const TOKENS = 300;

describe("the policy loss on the device", () => {
  it("ignores NaN at masked positions and is -A / length on-policy", async () => {
    const mask = Array.from({ length: ROWS * TOKENS }, (_, i) =>
      Number(i % TOKENS < 100 * (1 + Math.floor(i / TOKENS))),
    );
    const logps = mask.map((m, i) => (m === 1 ? -1 - Math.sin(i) : Number.NaN));
    const advantages = [1, -2, 0.5];
    const grad = tf.tidy(() =>
      tf.grad((x) => {
        const grid = tf.tensor2d(mask, [ROWS, TOKENS]);
        const given = {
          oldLogps: null,
          refLogps: null,
          entropies: null,
          mask: grid,
          advantages: tf.tensor1d(advantages),
        };
        return detailedLoss({ ...given, logps: x as Tensor }, lossSettings("grpo", { beta: 0 })).loss;
      })(tf.tensor2d(logps, [ROWS, TOKENS])),
    );
    const found = await grad.data();
    grad.dispose();
    mask.forEach((m, i) => {
      const n = Math.floor(i / TOKENS);
      const expected = m === 0 ? 0 : -(advantages[n] as number) / (100 * (n + 1)) / ROWS;
      expect(Math.abs((found[i] as number) - expected)).toBeLessThan(1e-7);
    });
  });

  it.each([0, -10])("keeps the most uncertain tokens of a large batch, entropies from %f", async (least) => {
    const entropies = Array.from({ length: ROWS * TOKENS }, (_, i) => least + Math.abs(Math.sin(i * 12.9898) * 5));
    // Every fourth token is masked.
    const mask = entropies.map((_, i) => Number(i % 4 !== 3));
    const ones = tf.ones([ROWS, TOKENS]);
    const parts = detailedLoss(
      {
        logps: ones.neg(),
        oldLogps: null,
        refLogps: null,
        entropies: tf.tensor2d(entropies, [ROWS, TOKENS]),
        mask: tf.tensor2d(mask, [ROWS, TOKENS]),
        advantages: tf.tensor1d([1, 1, 1]),
      },
      lossSettings("dapo", { beta: 0, topEntropyQuantile: 0.2 }),
    );
    const grad = await parts.gradLogps.data();
    const kept = Array.from(grad).filter((g) => g !== 0).length;
    expect(kept).toBe(135);
    const counted = entropies.filter((_, i) => mask[i] === 1);
    const threshold = counted.sort((a, b) => b - a)[134] as number;
    const wanted = entropies.map((entropy, i) => mask[i] === 1 && entropy >= threshold - 1e-5);
    expect(Array.from(grad, (g) => g !== 0)).toEqual(wanted);
    tf.dispose(Object.values(parts));
  });
});

describe("the gradient monitor on the device", () => {
  it.each([
    ["NaN", Number.NaN, 1],
    ["Infinity", Number.POSITIVE_INFINITY, 1],
    ["-Infinity", Number.NEGATIVE_INFINITY, 1],
    ["a finite value", 3, 0],
  ])("counts %s in a large tensor", async (_name, value, count) => {
    const data = new Float32Array(70_000).fill(0.01);
    data[54_321] = value;
    const grads = { "a.weight": tf.tensor2d(data, [700, 100]), "b.weight": tf.ones([10]) };
    const report = await inspectGradients(grads, (name) => name.slice(0, 1));
    expect(report.nonFinite).toBe(count);
    expect(report.nonFiniteTensors).toEqual(count === 0 ? [] : ["a.weight"]);
    expect(judgeGradients(report, { haltOnNonFinite: false })).toBe(count === 0 ? "step" : "skip");
    expect(report.blocks.b).toBeCloseTo(Math.sqrt(10), 4);
    disposeSet(grads);
  });
});

describe("AdamW on the device", () => {
  it("repeats bit for bit and leaks nothing", async () => {
    const run = async (): Promise<Float32Array> => {
      let params = {
        w: tf.tensor2d(
          Float32Array.from({ length: 6400 }, (_, i) => Math.sin(i)),
          [80, 80],
        ) as Tensor,
      };
      const state = AdamState.fresh(params);
      for (let step = 0; step < 4; step++) {
        const grads = { w: tf.tidy(() => params.w.mul(2).sub(0.3)) };
        const next = applyAdamw(params, grads, state, 1e-2, { ...ADAM_DEFAULTS, weightDecay: 0.1 });
        disposeSet(params);
        disposeSet(grads);
        params = next as { w: Tensor };
      }
      const data = (await params.w.data()) as Float32Array;
      disposeSet(params);
      state.dispose();
      return data;
    };
    const before = tf.memory().numTensors;
    expect(await run()).toEqual(await run());
    expect(tf.memory().numTensors).toBe(before);
  });
});
