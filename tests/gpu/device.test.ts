import { beforeAll, describe, expect, it } from "vitest";
import type { EngineDevice } from "../../src/engine/gpu/device.ts";
import { memorySnapshot, trimPool } from "../../src/engine/gpu/memory.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { useGpu } from "../support/gpu.ts";

let engine: EngineDevice;
beforeAll(async () => {
  engine = await useGpu();
});

describe("the GPU device", () => {
  it("runs tfjs ops on our own device", async () => {
    const product = tf.matMul(tf.tensor2d([[1, 2]]), tf.tensor2d([[3], [4]]));
    expect(Array.from(await product.data())).toEqual([11]);
    expect(tf.getBackend()).toBe("webgpu");
  });

  it("turns an uncaptured device error into an exception, once", async () => {
    const buffer = engine.device.createBuffer({ size: 4, usage: 0x8000_0000 });
    buffer.destroy();
    await engine.device.queue.onSubmittedWorkDone();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(() => engine.check()).toThrow(/did not happen/);
    expect(() => engine.check()).not.toThrow();
  });

  it("gives pooled buffers back and still works", async () => {
    for (let size = 1000; size < 1100; size++) tf.dispose(tf.ones([size]).square());
    await tf.ones([3]).data();
    const before = memorySnapshot();
    trimPool();
    const after = memorySnapshot();
    expect(after.gpuBytesAllocated).toBeLessThan(before.gpuBytesAllocated);
    expect(after.gpuBytesAllocated).toBeGreaterThanOrEqual(after.gpuBytes);
    expect(Array.from(await tf.ones([3]).square().data())).toEqual([1, 1, 1]);
  });
});
