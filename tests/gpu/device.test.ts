import { beforeAll, describe, expect, it } from "vitest";
import type { EngineDevice } from "../../src/engine/gpu/device.ts";
import { countsBetween, gpuCounts } from "../../src/engine/gpu/counters.ts";
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

  it("counts what it is asked for: own commands exactly, ops of the backend too", async () => {
    const { device } = engine;
    await tf.ones([3]).square().data();
    const module = device.createShaderModule({ code: "@compute @workgroup_size(1) fn main() {}" });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "main" } });
    let before = gpuCounts();
    const [from, to] = [
      device.createBuffer({ size: 64, usage: GPUBufferUsage.COPY_SRC }),
      device.createBuffer({ size: 32, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ }),
    ] as const;
    const encoder = device.createCommandEncoder();
    for (const dispatches of [2, 3]) {
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      for (let made = 0; made < dispatches; made++) pass.dispatchWorkgroups(1);
      pass.end();
    }
    encoder.copyBufferToBuffer(from, 0, to, 0, 32);
    device.queue.submit([encoder.finish()]);
    await to.mapAsync(GPUMapMode.READ);
    expect(countsBetween(before, gpuCounts())).toEqual({
      dispatches: 5,
      submits: 1,
      readBacks: 1,
      buffers: 2,
      bytes: 96,
    });
    for (const buffer of [from, to]) buffer.destroy();

    const x = tf.ones([3]);
    await x.data();
    before = gpuCounts();
    const y = tf.tidy(() => x.square().add(x).sqrt());
    await y.data();
    expect(countsBetween(before, gpuCounts())).toMatchObject({ dispatches: 3, readBacks: 1 });
    tf.dispose([x, y]);
  });
});
