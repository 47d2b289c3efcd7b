/** Updates over arenas of tensors of any shapes, against the same update tensor by tensor in stock ops. */
import { expect } from "vitest";
import { setAdapterKind, switchCustomKernels } from "../../src/engine/gpu/runtime/custom-op.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { ParameterSet } from "../../src/engine/model/weights/weights.ts";
import { GradientSum } from "../../src/engine/rl/optim/gradient-sum.ts";
import { inspectGradients } from "../../src/engine/rl/optim/monitor.ts";
import {
  ADAM_DEFAULTS,
  AdamState,
  applyAdamw,
  copySet,
  disposeSet,
  emaDistance,
  moveAverage,
} from "../../src/engine/rl/optim/optimiser.ts";
import { distance, onCpu } from "./kernels.ts";
import { expectSameBits } from "./same-bits.ts";

export type Shapes = Readonly<Record<string, readonly number[]>>;

export function randomSet(
  shapes: Shapes,
  seed: number,
  scale = 1,
  names: readonly string[] = Object.keys(shapes),
): Record<string, Tensor> {
  return Object.fromEntries(
    names.map((name, i) => {
      const shape = [...(shapes[name] ?? [])];
      const size = tf.util.sizeFromShape(shape);
      const values = Float32Array.from({ length: size }, (_, at) => 2 * scale * Math.sin(1.7 * at + seed + 0.3 * i));
      return [name, tf.tensor(values, shape)];
    }),
  );
}

export async function readAll(set: ParameterSet): Promise<Record<string, Float32Array>> {
  const values: Record<string, Float32Array> = {};
  for (const [name, tensor] of Object.entries(set)) values[name] = Float32Array.from(await tensor.data());
  return values;
}

export function expectClose(
  found: Record<string, Float32Array>,
  wanted: Record<string, Float32Array>,
  within: number,
): void {
  expect(Object.keys(found)).toEqual(Object.keys(wanted));
  for (const [name, array] of Object.entries(wanted)) {
    if (within === 0) expectSameBits(found[name] as Float32Array, array, name);
    else expect(distance(found[name] as Float32Array, array), name).toBeLessThan(within);
  }
}

interface Outcome {
  readonly params: Record<string, Float32Array>;
  readonly m: Record<string, Float32Array>;
  readonly v: Record<string, Float32Array>;
  readonly ema: Record<string, Float32Array>;
  readonly norm: number;
  readonly maxAbs: number;
  readonly distance: number;
}

/** Three updates of one set of tensors. */
export interface Updates {
  readonly shapes: Shapes;
  /** Names of the tensors that each group of an update has a gradient for. */
  readonly groups: readonly (readonly string[])[];
  /** Of the gradients. */
  readonly scale: number;
  /** Tensors that move at half the rate. */
  readonly slow: readonly string[];
}

async function readMoments(state: AdamState, which: "first" | "second"): Promise<Record<string, Float32Array>> {
  const set = state.moments(which);
  return await readAll(set).finally(() => disposeSet(set));
}

/** The updates tensor by tensor on plain numbers in double precision, without arenas. */
async function byHand({ shapes, groups, scale, slow }: Updates): Promise<Omit<Outcome, "distance">> {
  const drawn = async (
    seed: number,
    size: number,
    names?: readonly string[],
  ): Promise<Record<string, Float32Array>> => {
    const set = randomSet(shapes, seed, size, names);
    return await readAll(set).finally(() => disposeSet(set));
  };
  const params = await drawn(1, 1);
  const [ema, m, v] = [0, 1, 2].map((which) =>
    Object.fromEntries(Object.entries(params).map(([name, of]) => [name, which === 0 ? of.slice() : of.map(() => 0)])),
  ) as [typeof params, typeof params, typeof params];
  const { beta1, beta2, eps } = ADAM_DEFAULTS;
  let [norm, maxAbs] = [0, 0];
  for (let step = 0; step < 3; step++) {
    const sums: Record<string, Float64Array> = {};
    for (const [at, names] of groups.entries()) {
      for (const [name, values] of Object.entries(await drawn(10 * (at + 1) + step, scale, names))) {
        const sum = sums[name] ?? new Float64Array(values.length);
        sums[name] = sum;
        for (const [i, value] of values.entries()) sum[i] = (sum[i] as number) + value;
      }
    }
    const all = Object.values(sums).flatMap((values) => [...values]);
    norm = Math.sqrt(all.reduce((total, value) => total + value * value, 0));
    maxAbs = all.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    for (const [name, values] of Object.entries(params)) {
      const [first, second, average] = [m[name], v[name], ema[name]] as [Float32Array, Float32Array, Float32Array];
      const rate = 0.01 * (slow.includes(name) ? 0.5 : 1);
      const decay = (shapes[name]?.length ?? 0) < 2 ? 0 : 0.1;
      for (let i = 0; i < values.length; i++) {
        const gradient = sums[name]?.[i];
        let value = values[i] as number;
        if (gradient !== undefined) {
          const g = 0.25 * gradient;
          first[i] = beta1 * (first[i] as number) + (1 - beta1) * g;
          second[i] = beta2 * (second[i] as number) + (1 - beta2) * g * g;
          const [mean, square] = [
            (first[i] as number) / (1 - beta1 ** (step + 1)),
            (second[i] as number) / (1 - beta2 ** (step + 1)),
          ];
          value = value * (1 - rate * decay) - (rate * mean) / (Math.sqrt(square) + eps);
        }
        values[i] = value;
        average[i] = 0.9 * (average[i] as number) + 0.1 * value;
      }
    }
  }
  return { params, m, v, ema, norm, maxAbs };
}

/** `pause` reads the moments between the updates. */
async function threeUpdates({ shapes, groups, scale, slow }: Updates, pause: boolean): Promise<Outcome> {
  let params: ParameterSet = randomSet(shapes, 1);
  let ema = copySet(params);
  const state = AdamState.fresh(params);
  let [norm, maxAbs, far] = [0, 0, 0];
  for (let step = 0; step < 3; step++) {
    const sum = new GradientSum(state.layout);
    for (const [at, names] of groups.entries()) sum.add(randomSet(shapes, 10 * (at + 1) + step, scale, names));
    const report = await inspectGradients(sum, (name) => name);
    [norm, maxAbs] = [report.norm, report.maxAbs];
    const settings = {
      ...ADAM_DEFAULTS,
      weightDecay: 0.1,
      rateFactor: (name: string) => (slow.includes(name) ? 0.5 : 1),
    };
    const next = applyAdamw(params, sum, state, 0.01, settings, 0.25);
    sum.dispose();
    disposeSet(params);
    params = next;
    const moved = moveAverage(ema, params, 0.9, state.layout);
    disposeSet(ema);
    ema = moved.next;
    far = await emaDistance(ema, params, moved.distance);
    // Reading leaves values with the tensors, which the next update must not use.
    if (pause) await readMoments(state, "first");
  }
  const outcome = {
    params: await readAll(params),
    m: await readMoments(state, "first"),
    v: await readMoments(state, "second"),
    ema: await readAll(ema),
    norm,
    maxAbs,
    distance: far,
  };
  disposeSet(params);
  disposeSet(ema);
  state.dispose();
  return outcome;
}

/**
 * Both forms of our passes, also where the moments are looked at in between, and the stock ops over the same arenas move
 * what an update by hand moves.
 */
export async function expectLikeStockUpdates(updates: Updates): Promise<void> {
  const before = tf.memory().numTensors;
  switchCustomKernels(false);
  const stock = await onCpu([], () => threeUpdates(updates, false));
  switchCustomKernels(true);
  const wanted = await byHand(updates);
  const outcomes: Outcome[] = [stock];
  for (const [software, pause] of [
    [true, false],
    [true, true],
    [false, false],
  ] as const) {
    setAdapterKind(software);
    outcomes.push(await threeUpdates(updates, pause));
  }
  setAdapterKind(true);
  expect(tf.memory().numTensors).toBe(before);
  const moved = new Set(updates.groups.flat());
  for (const own of outcomes) {
    for (const which of ["params", "m", "v", "ema"] as const) expectClose(own[which], wanted[which], 3e-6);
    for (const which of ["norm", "maxAbs"] as const) {
      expect(Math.abs(own[which] / wanted[which] - 1), which).toBeLessThan(1e-5);
    }
    // In float32 it depends on the rounding of the weights, which double precision does not have.
    expect(Math.abs(own.distance / stock.distance - 1)).toBeLessThan(1e-5);
    // Without gradient: unchanged bit for bit.
    for (const name of Object.keys(updates.shapes).filter((one) => !moved.has(one))) {
      expect(own.params[name], name).toEqual(wanted.params[name]);
      expect(own.m[name]?.every((value) => value === 0)).toBe(true);
    }
  }
  // Neither the kind of adapter nor reading the moments changes a bit of the elements.
  for (const own of outcomes.slice(2)) {
    for (const which of ["params", "m", "v", "ema"] as const) expectClose(own[which], outcomes[1]?.[which] ?? {}, 0);
  }
}
