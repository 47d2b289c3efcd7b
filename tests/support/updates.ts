/** Updates over arenas of tensors of any shapes, against the same update tensor by tensor in stock ops. */
import { expect } from "vitest";
import { setAdapterKind, switchCustomKernels } from "../../src/engine/gpu/runtime/custom-kernels.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { ParameterSet } from "../../src/engine/model/weights/weights.ts";
import { emaDistance, moveAverage } from "../../src/engine/rl/optim/ema.ts";
import { GradientSum } from "../../src/engine/rl/optim/gradient-sum.ts";
import { inspectGradients } from "../../src/engine/rl/optim/monitor.ts";
import { ADAM_DEFAULTS, AdamState, applyAdamw } from "../../src/engine/rl/optim/optimiser.ts";
import { copySet, disposeSet } from "../../src/engine/rl/optim/parameter-sets.ts";
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

/** `pause` leaves and re-enters the arenas between the updates. */
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
    if (pause) await readAll(state.m);
  }
  const outcome = {
    params: await readAll(params),
    m: await readAll(state.m),
    v: await readAll(state.v),
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

/** Both forms of our passes, also where the moments are looked at in between, move what the stock ops move. */
export async function expectLikeStockUpdates(updates: Updates): Promise<void> {
  const before = tf.memory().numTensors;
  switchCustomKernels(false);
  const stock = await onCpu([], () => threeUpdates(updates, false));
  switchCustomKernels(true);
  const outcomes: Outcome[] = [];
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
    for (const which of ["params", "m", "v", "ema"] as const) expectClose(own[which], stock[which], 3e-6);
    for (const which of ["norm", "maxAbs", "distance"] as const) {
      expect(Math.abs(own[which] / stock[which] - 1), which).toBeLessThan(1e-5);
    }
    // Without gradient: unchanged bit for bit.
    for (const name of Object.keys(updates.shapes).filter((one) => !moved.has(one))) {
      expect(own.params[name], name).toEqual(stock.params[name]);
      expect(own.m[name]?.every((value) => value === 0)).toBe(true);
    }
  }
  // Neither the kind of adapter nor reading the moments changes a bit of the elements.
  for (const own of outcomes.slice(1)) {
    for (const which of ["params", "m", "v", "ema"] as const) expectClose(own[which], outcomes[0]?.[which] ?? {}, 0);
  }
}
