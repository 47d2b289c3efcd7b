import { beforeAll, describe, expect, it } from "vitest";
import { defaultConfig } from "../../../src/engine/config/parse.ts";
import { type Tensor, tf } from "../../../src/engine/gpu/tf.ts";
import type { ParameterSet } from "../../../src/engine/model/weights/weights.ts";
import { inspectGradients, judgeGradients } from "../../../src/engine/rl/optim/monitor.ts";
import {
  ADAM_DEFAULTS,
  AdamState,
  applyAdamw,
  copySet,
  disposeSet,
  emaDistance,
  rampedDecay,
} from "../../../src/engine/rl/optim/optimiser.ts";
import { clipFactor, learningRate, scheduleOf } from "../../../src/engine/rl/optim/training-state.ts";
import { globalNorm, scaleGradients, updateEma } from "../../../tools/parity/optim-sets.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const parameters = (): ParameterSet => ({
  "layer.weight": tf.tensor2d([
    [1, -2],
    [3, 0.5],
  ]),
  "layer.bias": tf.tensor1d([0.1, -0.1]),
});
const gradients = (): ParameterSet => ({
  "layer.weight": tf.tensor2d([
    [3, 0],
    [0, 0],
  ]),
  "layer.bias": tf.tensor1d([0, 4]),
});
const values = (set: ParameterSet, name: string): number[] => Array.from(set[name]?.dataSync() ?? []);

describe("AdamW on a parameter set", () => {
  it("decays matrices but neither biases nor norms", () => {
    const params = parameters();
    const zero = { "layer.weight": tf.zeros([2, 2]), "layer.bias": tf.zeros([2]) };
    const next = applyAdamw(params, zero, AdamState.fresh(params), 0.1, { ...ADAM_DEFAULTS, weightDecay: 0.5 });
    expect(values(next, "layer.weight")[0]).toBeCloseTo(0.95, 6);
    expect(values(next, "layer.bias")).toEqual(values(params, "layer.bias"));
  });

  it("leaves tensors without a gradient alone, moments included", () => {
    const params = parameters();
    const state = AdamState.fresh(params);
    const grads = { "layer.bias": gradients()["layer.bias"] as Tensor };
    const next = applyAdamw(params, grads, state, 0.1, { ...ADAM_DEFAULTS, weightDecay: 0.5 });
    expect(values(next, "layer.weight")).toEqual(values(params, "layer.weight"));
    expect(values(state.moments("first"), "layer.weight")).toEqual([0, 0, 0, 0]);
    expect(values(next, "layer.bias")[1]).toBeCloseTo(-0.2, 5);
    const without = applyAdamw(params, {}, state, 0.1, ADAM_DEFAULTS);
    expect(values(without, "layer.bias")).toEqual(values(params, "layer.bias"));
    expect(state.step).toBe(2);
  });

  it("owns exactly its moments; the rest is the caller's", () => {
    const before = tf.memory().numTensors;
    let params = parameters();
    const state = AdamState.fresh(params);
    for (let step = 0; step < 3; step++) {
      const grads = gradients();
      const next = applyAdamw(params, grads, state, 0.1, ADAM_DEFAULTS);
      disposeSet(params);
      disposeSet(grads);
      params = next;
      expect(tf.memory().numTensors).toBe(before + 4);
    }
    expect(state.step).toBe(3);
    state.dispose();
    disposeSet(params);
    expect(tf.memory().numTensors).toBe(before);
  });

  it("refuses a state with a broken step count", () => {
    expect(() => new AdamState(1.5, {}, {})).toThrow(/1.5/);
  });
});

describe("clipping and the monitor", () => {
  it("measures all tensors together and each block", async () => {
    const grads = gradients();
    expect(await globalNorm(grads)).toBeCloseTo(5, 6);
    expect(await globalNorm(grads, "max")).toBe(4);
    expect((await inspectGradients(grads, (name) => name.split(".")[1] ?? "")).blocks).toEqual({ weight: 3, bias: 4 });
    const clipped = scaleGradients(grads, clipFactor(5, 1));
    expect(await globalNorm(clipped)).toBeCloseTo(1, 5);
    expect(clipFactor(0.5, 1)).toBe(1);
    expect(clipFactor(1, 1)).toBeLessThan(1);
    expect(clipFactor(Number.NaN, 1)).toBeNaN();
  });

  it("counts what is not finite and judges it", async () => {
    const grads = { a: tf.tensor1d([1, Number.NaN, Number.POSITIVE_INFINITY]), b: tf.tensor1d([2]) };
    const report = await inspectGradients(grads, (name) => name);
    expect(report).toMatchObject({ nonFinite: 2, nonFiniteTensors: ["a"] });
    expect(Number.isFinite(report.norm)).toBe(false);
    expect(report.blocks.b).toBe(2);
    expect(judgeGradients(report, { haltOnNonFinite: false })).toBe("skip");
    expect(judgeGradients(report, { haltOnNonFinite: true })).toBe("halt");
    const fine = await inspectGradients(gradients(), () => "all");
    expect(judgeGradients(fine, { haltOnNonFinite: true })).toBe("step");
    expect((await inspectGradients({}, () => "all")).norm).toBe(0);
  });
});

describe("the moving average", () => {
  it("follows the student, touches neither set and reports the distance", async () => {
    const student = { p: tf.tensor1d([1, 2]) };
    const ema = { p: tf.tensor1d([0, 0]) };
    const next = updateEma(ema, student, 0.9);
    expect(values(next, "p")[1]).toBeCloseTo(0.2, 6);
    expect(values(ema, "p")).toEqual([0, 0]);
    expect(await emaDistance(ema, student)).toBeCloseTo(Math.sqrt(5), 6);
    expect(() => updateEma(ema, {}, 0.9)).toThrow(/"p"/);
  });

  it("moves in float32 at decay 0.999 over thousands of updates", () => {
    let ema: ParameterSet = { p: tf.scalar(1) };
    const student = { p: tf.scalar(1.01) };
    for (let update = 0; update < 5000; update++) {
      const next = updateEma(ema, student, 0.999);
      disposeSet(ema);
      ema = next;
    }
    expect(Math.abs((values(ema, "p")[0] as number) - 1.0099328)).toBeLessThan(1e-5);
  });

  it("ramps its decay", () => {
    expect(rampedDecay(0.999, 1)).toBeCloseTo(2 / 11, 12);
    expect(rampedDecay(0.999, 100_000)).toBe(0.999);
  });
});

describe("schedules and sets", () => {
  it("constant stays, and a step that is no step is refused", () => {
    expect(learningRate(1e-5, 999, { kind: "constant" })).toBe(1e-5);
    expect(() => learningRate(1e-5, -1, { kind: "constant" })).toThrow(/-1/);
  });

  it("descends over the updates of the run, which the passes of a batch multiply", () => {
    const config = { ...defaultConfig(), steps: 10, lrSchedulerType: "cosine", warmupSteps: 0 } as const;
    const passes = { numIterations: 2, stepsPerGeneration: 3 } as const;
    expect(learningRate(1, 60, scheduleOf({ ...config, ...passes }))).toBeCloseTo(0, 12);
  });

  it("copies sets without touching the given ones", () => {
    const original = gradients();
    const copy = copySet(original);
    disposeSet(original);
    expect(values(copy, "layer.bias")).toEqual([0, 4]);
  });
});
