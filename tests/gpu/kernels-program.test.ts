import { beforeAll, describe, expect, it, vi } from "vitest";
import { columnSum } from "../../src/engine/gpu/kernels/repeat.ts";
import { summarise } from "../../src/engine/gpu/kernels/summary.ts";
import { setAdapterKind, switchCustomKernels, toTensor } from "../../src/engine/gpu/runtime/custom-op.ts";
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { type GpuProgram, PAGE_BLOCKS, shaderSource } from "../../src/engine/gpu/runtime/pipelines.ts";
import { flatGrid, runProgram } from "../../src/engine/gpu/runtime/program.ts";
import { type Tensor, tf } from "../../src/engine/gpu/tf.ts";
import { keepsOrder } from "../../src/engine/gpu/tfjs/rearrange.ts";
import { useGpu } from "../support/gpu.ts";
import { WAIT } from "../support/hang.ts";
import { distance, randomTensor } from "../support/kernels.ts";

let engine: EngineDevice;
beforeAll(async () => {
  engine = await useGpu();
});

/** Dispatches of one submit, over several pages of uniforms. */
const COUNT = 700;

const SPLIT: GpuProgram = {
  name: "test-split",
  inputs: { x: "f32" },
  outputs: { up: "f32", down: "f32" },
  uniforms: { size: "u32", by: "f32" },
  workgroup: [8, 1],
  body: `
    let i = (group.y * groups.x + group.x) * 8u + local.x;
    if (i < u.size) { up[i] = x[i] + u.by; down[i] = x[i] - u.by; }`,
};

describe("own programs", () => {
  it("keep their place among stock ops and may have several outputs", async () => {
    const before = tf.memory().numTensors;
    const difference = tf.tidy(() => {
      const x = tf.range(0, 20).square();
      const [up, down] = runProgram(SPLIT, [x], [{ shape: [20] }, { shape: [4, 5] }], [20, 3], flatGrid(3)).map(
        toTensor,
      ) as [Tensor, Tensor];
      return up.mul(2).sub(down.reshape([20]));
    });
    const expected = Array.from({ length: 20 }, (_, i) => i * i + 9);
    expect(Array.from(await difference.data())).toEqual(expected);
    difference.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });

  it("that are faulty fail the step", async () => {
    const broken: GpuProgram = { ...SPLIT, name: "test-broken", body: "up[0] = nonsense;" };
    expect(shaderSource(broken)).toContain("nonsense");
    const outputs = runProgram(broken, [tf.ones([2])], [{ shape: [2] }, { shape: [2] }], [2, 0], [1, 1, 1]);
    await toTensor(outputs[0]).data();
    await engine.device.queue.onSubmittedWorkDone();
    await vi.waitFor(() => expect(() => engine.check()).toThrow(/did not happen/), WAIT);
  });

  it("each have their own uniforms, handed over together with the commands", async () => {
    const { queue } = engine.device;
    const stock = queue.writeBuffer;
    let writes = 0;
    queue.writeBuffer = ((...given: Parameters<GPUQueue["writeBuffer"]>) => {
      writes++;
      return stock(...given);
    }) as GPUQueue["writeBuffer"];
    const perSubmit = tf.env().getNumber("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE");
    const x = tf.tidy(() => tf.zeros([3]).add(0));
    const first = (by: number): Tensor => {
      const [up, down] = runProgram(SPLIT, [x], [{ shape: [3] }, { shape: [3] }], [3, by], [1, 1, 1]).map(toTensor);
      down?.dispose();
      return up as Tensor;
    };
    try {
      tf.env().set("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE", 10_000);
      // The second round writes the same pages again while the first may still wait for the GPU.
      for (const start of [0, 1000]) {
        await x.data();
        writes = 0;
        const results = Array.from({ length: COUNT }, (_, i) => first(start + i));
        const found = await Promise.all(results.map(async (one) => (await one.data())[2]));
        expect(found).toEqual(results.map((_, i) => start + i));
        expect(writes).toBeLessThanOrEqual(Math.ceil(COUNT / PAGE_BLOCKS));
        tf.dispose(results);
      }
    } finally {
      queue.writeBuffer = stock;
      tf.env().set("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE", perSubmit);
      x.dispose();
    }
  });

  it("refuse a wrong number of uniforms", () => {
    expect(() => runProgram(SPLIT, [tf.ones([2])], [{ shape: [2] }, { shape: [2] }], [2], [1, 1, 1])).toThrow(
      /2 uniforms/,
    );
  });

  it("fold long rows of workgroups into two dimensions", () => {
    expect(flatGrid(0)).toEqual([1, 1, 1]);
    expect(flatGrid(65_535)).toEqual([65_535, 1, 1]);
    const [x, y] = flatGrid(200_001);
    expect(x * y).toBeGreaterThanOrEqual(200_001);
    expect(Math.max(x, y)).toBeLessThanOrEqual(65_535);
  });
});

describe("transposes past unit axes", () => {
  it("are views and others are not", async () => {
    expect(keepsOrder([3, 1, 4, 5], [0, 2, 1, 3])).toBe(true);
    expect(keepsOrder([3, 2, 4, 5], [0, 2, 1, 3])).toBe(false);
    const before = tf.memory().numTensors;
    const turned = tf.tidy(() => tf.range(0, 12).reshape([3, 1, 4]).transpose([1, 0, 2]).add(0));
    expect(turned.shape).toEqual([1, 3, 4]);
    expect(Array.from(await turned.data())).toEqual(Array.from({ length: 12 }, (_, i) => i));
    turned.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });
});

/** Both forms of a kernel and the stock path. */
async function threeWays(run: () => Tensor[]): Promise<Float32Array[][]> {
  const results: Float32Array[][] = [];
  for (const [own, software] of [
    [false, true],
    [true, true],
    [true, false],
  ] as const) {
    switchCustomKernels(own);
    setAdapterKind(software);
    const tensors = run();
    const arrays: Float32Array[] = [];
    for (const tensor of tensors) arrays.push((await tensor.data()) as Float32Array);
    tf.dispose(tensors);
    results.push(arrays);
  }
  setAdapterKind(true);
  return results;
}

describe("summaries", () => {
  it("tell squares, extremes and faults of small and large tensors, alone and as differences", async () => {
    const bad = new Float32Array(5000).fill(2);
    [bad[7], bad[4321]] = [Number.NaN, Number.NEGATIVE_INFINITY];
    const tensors = [randomTensor([1], 1), randomTensor([40, 90], 2), tf.tensor1d(bad), randomTensor([1024], 3)];
    const partners = tensors.map((tensor) => tf.onesLike(tensor));
    const [stock, ...own] = await threeWays(() => [summarise(tensors), summarise(tensors, partners)]);
    for (const result of own) {
      result.forEach((array, i) => {
        const expected = stock?.[i] as Float32Array;
        expect(array[8]).toBe(2);
        for (const row of [0, 1, 3]) {
          const [from, to] = [3 * row, 3 * row + 3];
          expect(distance(array.slice(from, to), expected.slice(from, to))).toBeLessThan(1e-5);
        }
      });
    }
    tf.dispose([...tensors, ...partners]);
  });

  it("of columns add up every row once", async () => {
    for (const [rows, width] of [
      [1, 1],
      [64, 3],
      [65, 17],
      [5000, 9],
    ] as const) {
      const x = randomTensor([rows, width], 5);
      const sums = toTensor(columnSum(x, rows, width));
      const expected = x.sum(0);
      expect(distance((await sums.data()) as Float32Array, (await expected.data()) as Float32Array)).toBeLessThan(1e-5);
      tf.dispose([x, sums, expected]);
    }
  });
});
