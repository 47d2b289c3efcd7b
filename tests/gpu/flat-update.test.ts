/** The passes of an update over many tensors at once, against the same update tensor by tensor in stock ops. */
import { beforeAll, describe, expect, it } from "vitest";
import { CHUNK, FlatLayout, runsOf } from "../../src/engine/gpu/flat/layout.ts";
import { gather, readSet, scatter } from "../../src/engine/gpu/flat/moves.ts";
import { setAdapterKind, switchOwnKernels } from "../../src/engine/gpu/own-kernels.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import type { ParameterSet } from "../../src/engine/model/weights.ts";
import { emaDistance, moveAverage } from "../../src/engine/rl/ema.ts";
import { GradientSum } from "../../src/engine/rl/gradient-sum.ts";
import { inspectGradients } from "../../src/engine/rl/monitor.ts";
import { ADAM_DEFAULTS, AdamState, applyAdamw } from "../../src/engine/rl/optimiser.ts";
import { copySet, disposeSet } from "../../src/engine/rl/parameter-sets.ts";
import { useGpu } from "../support/gpu.ts";
import { distance } from "../support/kernels.ts";

beforeAll(async () => {
  await useGpu();
});

/** Sizes around the chunk and the alignment, a scalar, and one tensor that lies alone between small ones. */
const SHAPES: Readonly<Record<string, readonly number[]>> = {
  one: [1],
  scalar: [],
  bias: [7],
  under: [CHUNK - 1],
  exact: [CHUNK],
  over: [CHUNK + 1],
  large: [515, 513],
  matrix: [33, 65],
  last: [3, 5, 7],
};

function randomSet(seed: number, scale = 1, names = Object.keys(SHAPES)): Record<string, Tensor> {
  return Object.fromEntries(
    names.map((name, i) => {
      const shape = [...(SHAPES[name] ?? [])];
      const at = tf.util.sizeFromShape(shape);
      // Scattered enough, and made at once; normal numbers come one by one from the host.
      const values = tf.tidy(() =>
        tf
          .range(0, at)
          .mul(1.7)
          .add(seed + 0.3 * i)
          .sin()
          .mul(2 * scale)
          .reshape(shape),
      );
      return [name, values];
    }),
  );
}

async function read(set: ParameterSet): Promise<Record<string, Float32Array>> {
  const values: Record<string, Float32Array> = {};
  for (const [name, tensor] of Object.entries(set)) values[name] = Float32Array.from(await tensor.data());
  return values;
}

function expectClose(found: Record<string, Float32Array>, wanted: Record<string, Float32Array>, within: number): void {
  expect(Object.keys(found)).toEqual(Object.keys(wanted));
  for (const [name, array] of Object.entries(wanted)) {
    if (within === 0) expect(found[name], name).toEqual(array);
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

/** Three updates, each from three groups that reach different tensors; `pause` leaves and re-enters the arenas between them. */
async function threeUpdates(scale: number, pause: boolean): Promise<Outcome> {
  let params: ParameterSet = randomSet(1);
  let ema = copySet(params);
  const state = AdamState.fresh(params);
  let [norm, maxAbs, far] = [0, 0, 0];
  for (let step = 0; step < 3; step++) {
    const sum = new GradientSum(state.layout);
    sum.add(randomSet(10 + step, scale, ["bias", "over", "large", "last"]));
    sum.add(randomSet(20 + step, scale, ["one", "bias", "under", "exact", "over", "last"]));
    sum.add(randomSet(30 + step, scale, ["scalar", "bias", "large", "last"]));
    const report = await inspectGradients(sum, (name) => name);
    [norm, maxAbs] = [report.norm, report.maxAbs];
    const settings = {
      ...ADAM_DEFAULTS,
      weightDecay: 0.1,
      skip: (name: string) => name === "exact",
      rateFactor: (name: string) => (name === "large" ? 0.5 : 1),
    };
    const next = applyAdamw(params, sum, state, 0.01, settings, 0.25);
    sum.dispose();
    disposeSet(params);
    params = next;
    const moved = moveAverage(ema, params, 0.9, state.layout);
    disposeSet(ema);
    ema = moved.next;
    far = await emaDistance(ema, params, moved.distance);
    // Reading leaves values with the tensors, which the next update must not believe.
    if (pause) await read(state.m);
  }
  const outcome = {
    params: await read(params),
    m: await read(state.m),
    v: await read(state.v),
    ema: await read(ema),
    norm,
    maxAbs,
    distance: far,
  };
  disposeSet(params);
  disposeSet(ema);
  state.dispose();
  return outcome;
}

describe("updates over arenas", () => {
  it.each([1, 1e-12, 1e12])("equal stock ops for gradients of about %f", async (scale) => {
    const before = tf.memory().numTensors;
    switchOwnKernels(false);
    const stock = await threeUpdates(scale, false);
    switchOwnKernels(true);
    const outcomes: Outcome[] = [];
    for (const [software, pause] of [
      [true, false],
      [true, true],
      [false, false],
    ] as const) {
      setAdapterKind(software);
      outcomes.push(await threeUpdates(scale, pause));
    }
    setAdapterKind(true);
    expect(tf.memory().numTensors).toBe(before);
    for (const own of outcomes) {
      for (const which of ["params", "m", "v", "ema"] as const) expectClose(own[which], stock[which], 3e-6);
      for (const which of ["norm", "maxAbs", "distance"] as const) {
        expect(Math.abs(own[which] / stock[which] - 1), which).toBeLessThan(1e-5);
      }
      // No gradient, or skipped: left alone to the bit.
      expect(own.params.matrix).toEqual(stock.params.matrix);
      expect(own.params.exact).toEqual(stock.params.exact);
      expect(own.m.exact?.every((value) => value === 0)).toBe(true);
    }
    // Neither the kind of adapter nor a look at the moments changes a bit of the elements.
    for (const own of outcomes.slice(1)) {
      for (const which of ["params", "m", "v", "ema"] as const) expectClose(own[which], outcomes[0]?.[which] ?? {}, 0);
    }
  });

  it("do not change copies of the state, and a copy goes on by itself", async () => {
    const params = randomSet(1);
    const state = AdamState.fresh(params);
    const step = (of: AdamState): ParameterSet => {
      const grads = randomSet(2);
      const next = applyAdamw(params, grads, of, 0.1, ADAM_DEFAULTS);
      disposeSet(grads);
      return next;
    };
    disposeSet(step(state));
    const copy = state.copy();
    const kept = await read(copy.m);
    const ahead = step(state);
    expectClose(await read(copy.m), kept, 0);
    const again = step(copy);
    expectClose(await read(again), await read(ahead), 0);
    for (const set of [params, ahead, again]) disposeSet(set);
    state.dispose();
    copy.dispose();
  });

  it("tell where a sum of gradients is broken, whatever absent tensors hold", async () => {
    const layout = new FlatLayout(Object.entries(SHAPES));
    const sum = new GradientSum(layout);
    expect((await inspectGradients(sum, () => "all")).norm).toBe(0);
    sum.add(randomSet(3, 1, ["bias", "over"]));
    const bad = new Float32Array(CHUNK + 1);
    bad[CHUNK] = Number.NaN;
    sum.add({ over: tf.tensor1d(bad), matrix: tf.ones([33, 65]) });
    const report = await inspectGradients(sum, (name) => name);
    expect(report.nonFinite).toBe(1);
    expect(report.nonFiniteTensors).toEqual(["over"]);
    expect(report.blocks.matrix).toBeCloseTo(Math.sqrt(33 * 65), 3);
    expect(report.norm).toBeNaN();
    const tensors = sum.tensors();
    expect(Object.keys(tensors).sort()).toEqual(["bias", "matrix", "over"]);
    disposeSet(tensors);
    expect(() => sum.add({ strange: tf.ones([1]) })).toThrow(/strange/);
    sum.dispose();
    layout.dispose();
  });
});

describe("arenas", () => {
  it("give back what they were given, as copies where asked", async () => {
    const before = tf.memory().numTensors;
    const set = randomSet(5);
    const layout = FlatLayout.of(set);
    expect(layout.arenas.map(({ segments }) => segments.length)).toEqual([8, 1]);
    for (const own of [false, true]) {
      const flats = gather(layout, set, own);
      const back = scatter(layout, flats, own);
      expect(Object.keys(back)).toEqual(Object.keys(set));
      expectClose(await read(back), await read(set), 0);
      tf.dispose(flats);
      disposeSet(back);
    }
    expectClose(Object.fromEntries(await readSet(layout, set)), await read(set), 0);
    disposeSet(set);
    layout.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });

  it("take integers that were cast, whose buffer stays integer", async () => {
    const cast = tf.tidy(() => tf.tensor1d([1, 2, 3], "int32").toFloat());
    const layout = new FlatLayout([
      ["a", [3]],
      ["b", [1]],
    ]);
    const flats = gather(layout, { a: cast });
    const back = scatter(layout, flats);
    expect(Array.from(await (back.a as Tensor).data())).toEqual([1, 2, 3]);
    tf.dispose([...flats, cast]);
    disposeSet(back);
  });

  it("hold a limited amount, so that few are held twice", () => {
    const layout = new FlatLayout(Array.from({ length: 40 }, (_, i) => [`t${i}`, [2 ** 18 - 1]] as const));
    expect(layout.arenas.length).toBe(3);
    for (const { length } of layout.arenas) expect(length).toBeLessThanOrEqual(2 ** 22);
    expect(layout.arenas.reduce((sum, { chunks }) => sum + chunks, 0)).toBe(layout.chunks);
  });

  it("know the stretches of wanted neighbours", () => {
    const segments = ["a", "b", "c", "d"].map((name, index) => {
      return { name, shape: [10], size: 10, index, offset: 16 * index };
    });
    const runs = (wanted: string): unknown => runsOf(segments, (name) => wanted.includes(name));
    expect(runs("abcd")).toEqual([{ begin: 0, end: 58 }]);
    expect(runs("abd")).toEqual([
      { begin: 0, end: 26 },
      { begin: 48, end: 58 },
    ]);
    expect(runs("")).toEqual([]);
  });
});
