import { beforeAll, describe, expect, it, vi } from "vitest";
import { countsBetween, gpuCounts, type PassClock, passClock } from "../../src/engine/gpu/runtime/counters.ts";
import { type EngineDevice, OutOfMemory } from "../../src/engine/gpu/runtime/device.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { openGpuAgain, useGpu } from "../support/gpu.ts";
import { WAIT } from "../support/hang.ts";

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
    await vi.waitFor(() => expect(() => engine.check()).toThrow(/did not happen/), WAIT);
    expect(() => engine.check()).not.toThrow();
  });

  it("tells memory that ran out from other errors, and what needs less", async () => {
    const size = engine.device.limits.maxBufferSize;
    const buffers: GPUBuffer[] = [];
    let told: unknown;
    // A driver may promise more than there is, but not without limit.
    for (let i = 0; i < 64 && told === undefined; i++) {
      buffers.push(engine.device.createBuffer({ size, usage: GPUBufferUsage.STORAGE }));
      await new Promise((resolve) => setTimeout(resolve, 20));
      try {
        engine.check();
      } catch (thrown) {
        told = thrown;
      }
    }
    for (const buffer of buffers) buffer.destroy();
    await engine.checkAll().catch(() => undefined);
    engine.device.createBuffer({ size: 2 * size, usage: GPUBufferUsage.STORAGE });
    await expect(engine.checkAll()).rejects.toBeInstanceOf(OutOfMemory);
    await engine.checkAll();
    expect(told).toMatchObject({ code: "gpu", message: expect.stringMatching(/ran out of memory.*weightStorage/s) });
  });
});

/** An empty dispatch, and how to record it. */
function emptyProgram(device: GPUDevice): (dispatches: readonly number[], encoder: GPUCommandEncoder) => void {
  const module = device.createShaderModule({ code: "@compute @workgroup_size(1) fn main() {}" });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module, entryPoint: "main" } });
  return (dispatches, encoder) => {
    for (const count of dispatches) {
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      for (let made = 0; made < count; made++) pass.dispatchWorkgroups(1);
      pass.end();
    }
  };
}

describe("the counts of a device", () => {
  it("are those of the commands it was given", async () => {
    const { device } = engine;
    await tf.ones([3]).square().data();
    const record = emptyProgram(device);
    const before = gpuCounts();
    emptyProgram(device);
    const [from, to] = [
      device.createBuffer({ size: 64, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST }),
      device.createBuffer({ size: 32, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ }),
    ] as const;
    const filled = device.createBuffer({ size: 8, usage: GPUBufferUsage.COPY_SRC, mappedAtCreation: true });
    filled.unmap();
    const words = Uint32Array.from([1, 2, 3, 4, 5]);
    device.queue.writeBuffer(from, 0, words); // 20 bytes
    device.queue.writeBuffer(from, 0, words, 3); // 8
    device.queue.writeBuffer(from, 0, words, 1, 3); // 12
    device.queue.writeBuffer(from, 0, words.buffer, 4, 12); // 12
    const encoder = device.createCommandEncoder();
    record([2, 3], encoder);
    encoder.copyBufferToBuffer(from, 0, to, 0, 32);
    device.queue.submit([encoder.finish()]);
    await to.mapAsync(GPUMapMode.READ, 8);
    expect(Array.from(new Uint32Array(to.getMappedRange(8, 4)))).toEqual([4]);
    expect(countsBetween(before, gpuCounts())).toEqual({
      dispatches: 5,
      submits: 1,
      readBacks: 1,
      readBytes: 24,
      writtenBytes: 8 + 20 + 8 + 12 + 12,
      buffers: 3,
      bufferBytes: 104,
      programs: 1,
    });
    for (const buffer of [from, to, filled]) buffer.destroy();
    engine.check();
  });

  it("are those of the backend's operations", async () => {
    const x = tf.ones([3]);
    await x.square().data();
    const before = gpuCounts();
    const y = tf.tidy(() => x.square().add(x).sqrt());
    await y.data();
    expect(countsBetween(before, gpuCounts())).toMatchObject({
      dispatches: 3,
      submits: 1,
      readBacks: 1,
      readBytes: 12,
    });
    tf.dispose([x, y]);
  });

  it("go on where they were on another device", async () => {
    const [kept, backend] = [gpuCounts(), tf.getBackend()];
    engine.close();
    engine = await openGpuAgain();
    expect(countsBetween(kept, gpuCounts()).dispatches).toBe(0);
    const before = gpuCounts();
    const encoder = engine.device.createCommandEncoder();
    emptyProgram(engine.device)([4], encoder);
    engine.device.queue.submit([encoder.finish()]);
    expect(countsBetween(before, gpuCounts())).toMatchObject({ dispatches: 4, submits: 1 });
    expect(tf.getBackend()).toBe(backend);
    expect(Array.from(await tf.ones([2]).square().data())).toEqual([1, 1]);
  });
});

describe("the clock of compute passes", () => {
  it("files what the GPU did under the label of its moment, and nothing else", async ({ skip }) => {
    const { device } = engine;
    skip(!device.features.has("timestamp-query"), "the adapter has no timestamp queries");
    const clock = passClock() as PassClock;
    const x = tf.ones([256, 256]);
    const product = async (): Promise<void> => {
      const y = tf.tidy(() => tf.matMul(x, x));
      await y.data();
      y.dispose();
    };
    await product();
    clock.restart();
    clock.label("one");
    await product();
    clock.label(null);
    await product();
    clock.label("three");
    for (let n = 0; n < 3; n++) await product();
    clock.label(null);
    const seconds = await clock.read();
    expect([...seconds.keys()]).toEqual(["one", "three"]);
    for (const worked of seconds.values()) expect(worked).toBeGreaterThan(0);
    expect((await clock.read()).size).toBe(0);
    x.dispose();
    engine.check();
  });

  it("says nothing of labels with more passes than it can time", async ({ skip }) => {
    const { device } = engine;
    skip(!device.features.has("timestamp-query"), "the adapter has no timestamp queries");
    const clock = passClock() as PassClock;
    const record = emptyProgram(device);
    const encoder = device.createCommandEncoder();
    clock.restart();
    clock.label("few");
    record([1, 1], encoder);
    clock.label("many");
    record(new Array<number>(8192).fill(1), encoder);
    clock.label(null);
    device.queue.submit([encoder.finish()]);
    expect([...(await clock.read()).keys()]).toEqual(["few"]);
    engine.check();
  });
});
