/** Attention keeps to the limit of a dispatch's work in every form, with the same numbers. */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { attention } from "../../src/engine/gpu/kernels/attention/attention.ts";
import { formFor, sizesOf } from "../../src/engine/gpu/kernels/attention/attention-runs.ts";
import { countsBetween, gpuCounts } from "../../src/engine/gpu/runtime/counters.ts";
import { setAdapterKind } from "../../src/engine/gpu/runtime/custom-op.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { trimPool } from "../../src/engine/gpu/runtime/pool.ts";
import { DISPATCH_WORK, setDispatchWork } from "../../src/engine/gpu/runtime/work-budget.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { checkedGpu, useGpu } from "../support/gpu.ts";
import { distance, randomTensor, valuesAndGradients } from "../support/kernels.ts";
import { expectSameBits } from "../support/same-bits.ts";

/** Multiply-adds of every heavy dispatch. */
const { works } = vi.hoisted(() => ({ works: [] as number[] }));
vi.mock(import("../../src/engine/gpu/runtime/work-budget.ts"), async (original) => {
  const own = await original();
  return {
    ...own,
    countWork: (multiplyAdds: number) => {
      works.push(multiplyAdds);
      own.countWork(multiplyAdds);
    },
  };
});

let engine: EngineDevice;
beforeAll(async () => {
  engine = await useGpu();
});
checkedGpu();
afterEach(() => {
  setDispatchWork();
  vi.restoreAllMocks();
});

type Sizes = readonly [heads: number, keyHeads: number, queries: number, keys: number, width: number];

const inputs = ([heads, keyHeads, queries, keys, width]: Sizes): Tensor[] => [
  randomTensor([1, heads, queries, width], 1),
  randomTensor([1, keyHeads, keys, width], 2),
  randomTensor([1, keyHeads, keys, width], 3),
];

const kindOf = ([q, , v]: readonly Tensor[]): string => formFor(sizesOf(q as Tensor, v as Tensor), true).kind;
const causal = (...[q, k, v]: Tensor[]): Tensor => attention(q as Tensor, k as Tensor, v as Tensor, 0.3, undefined, {});

describe("a small limit gives the same numbers in more dispatches", () => {
  it.each([
    ["tiles", false, [4, 2, 530, 530, 16]],
    ["narrow", true, [4, 2, 45, 60, 8]],
    ["runs", true, [4, 2, 45, 60, 40]],
  ] as const)("%s", async (kind, software, sizes) => {
    setAdapterKind(software);
    const given = inputs(sizes);
    expect(kindOf(given)).toBe(kind);
    const counted = async () => {
      const before = gpuCounts();
      const values = await valuesAndGradients(causal, given, []);
      return { values, dispatches: countsBetween(before, gpuCounts()).dispatches };
    };
    const whole = await counted();
    setDispatchWork(kind === "tiles" ? 2 ** 21 : 2 ** 12);
    const cut = await counted();
    expect(cut.dispatches).toBeGreaterThan(whole.dispatches + 8);
    for (const [at, values] of cut.values.entries()) {
      // Tiles keep the order of their sums. A smaller limit makes shorter runs of queries, whose parts of the gradients by
      // keys and values are added run by run; narrow heads whose slopes no longer fit one run take the gradient of runs.
      const isByRun = kind !== "tiles" && at >= 2;
      if (isByRun) expect(distance(values, whole.values[at] as Float32Array)).toBeLessThan(1e-6);
      else expectSameBits(values, whole.values[at]);
    }
    tf.dispose(given);
  });
});

describe("the shapes of published models, recorded without running", () => {
  it.each([
    // 12 tiles and the thumbnail, and a text.
    ["1B", "tiles", [14, 2, 3456, 3456, 64]],
    ["4B", "tiles", [16, 2, 3456, 3456, 128]],
    ["1B, 128 queries behind a prompt", "tiles", [14, 2, 128, 3456, 64]],
    ["a window of many heads", "tiles", [4096, 4096, 64, 64, 72]],
  ] as const)("%s in %s", async (_, kind, sizes) => {
    setAdapterKind(false);
    const given = inputs(sizes);
    expect(kindOf(given)).toBe(kind);
    await Promise.all(given.map((tensor) => tensor.data()));
    vi.spyOn(engine.device.queue, "submit").mockImplementation(() => undefined);
    works.length = 0;
    const before = gpuCounts();
    tf.dispose(tf.tidy(() => tf.grads((...own: Tensor[]) => causal(...own).sum())(given)));
    const { dispatches } = countsBetween(before, gpuCounts());
    const [heads, , queries, keys, width] = sizes;
    const products = heads * queries * keys * width;
    // Forward two products of queries and keys, backward at least five.
    expect(works.reduce((sum, work) => sum + work, 0)).toBeGreaterThan(3 * products);
    expect(works.length).toBeLessThanOrEqual(dispatches);
    expect(Math.max(...works)).toBeLessThanOrEqual(DISPATCH_WORK);
    tf.dispose(given);
    trimPool();
  });
});
