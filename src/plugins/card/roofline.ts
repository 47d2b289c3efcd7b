/** A card's roofline: arithmetic, copies, workgroup memory, dispatches, submits, and the way to the host and back. */
import { median } from "../../engine/bytes/collections.ts";
import { halfPrograms } from "../../engine/gpu/runtime/custom-op.ts";
import type { EngineDevice } from "../../engine/gpu/runtime/device.ts";
import { compile, type GpuProgram } from "../../engine/gpu/runtime/pipelines.ts";
import { measureThroughput } from "../../engine/gpu/runtime/throughput.ts";
import { tf } from "../../engine/gpu/tf.ts";
import { peakRates } from "../tuner/peak.ts";
import type { CardRate, CardSizes } from "./card-line.ts";

const ROUNDS = 9;
/** Number of multiply-add runs at the small sizes. */
const FEW_RUNS = 6;
const COPIES = 8;
const EMPTY = 256;
const SUBMITS = 32;

/** Number of rates that `roofline` gives on this device. */
export function countRates(): number {
  return halfPrograms() ? 9 : 8;
}

/** Rates one by one. @param now monotonic milliseconds */
export async function* roofline(
  { device }: EngineDevice,
  now: () => number,
  sizes: CardSizes,
): AsyncGenerator<CardRate> {
  const { f32, f16 } = await peakRates(now, sizes === "1B" ? undefined : FEW_RUNS);
  yield { case: "Multiply-adds in f32", value: f32, unit: "FLOP/s" };
  // 0 without half-precision programs.
  if (f16 > 0) yield { case: "Multiply-adds in f16", value: f16, unit: "FLOP/s" };
  const { flops, dispatch } = await measureThroughput(() => now() / 1000);
  yield { case: "Products of 128 rows", value: flops, unit: "FLOP/s" };
  yield { case: "Small operation among many", value: dispatch, unit: "s" };
  yield { case: "Copies, read and written", value: await copyRate(device, now, sizes), unit: "B/s" };
  yield { case: "Workgroup memory, read", value: await workgroupRate(device, now, sizes), unit: "B/s" };
  yield { case: "Empty dispatch", value: await emptyDispatch(device, now), unit: "s" };
  yield { case: "Submit", value: await emptySubmit(device, now), unit: "s" };
  yield { case: "Read-back of one number", value: await readBack(now), unit: "s" };
}

/**
 * Median seconds until the device has done the work, over some rounds; the first prepares memory and is not counted.
 */
async function timed(device: GPUDevice, now: () => number, work: () => void): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const began = now();
    work();
    await device.queue.onSubmittedWorkDone();
    if (round > 0) times.push((now() - began) / 1000);
  }
  return median(times);
}

async function copyRate(device: GPUDevice, now: () => number, sizes: CardSizes): Promise<number> {
  const size = sizes === "1B" ? 2 ** 26 : 2 ** 22;
  const usage = GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const [one, other] = [device.createBuffer({ size, usage }), device.createBuffer({ size, usage })];
  const seconds = await timed(device, now, () => {
    const encoder = device.createCommandEncoder();
    for (let copy = 0; copy < COPIES; copy++) encoder.copyBufferToBuffer(one, 0, other, 0, size);
    device.queue.submit([encoder.finish()]);
  });
  one.destroy();
  other.destroy();
  return (2 * COPIES * size) / seconds;
}

const THREADS = 64;
const WORDS = 1024;

/** Every thread reads vectors of four numbers, each time at another position. */
const WORKGROUP: GpuProgram = {
  name: "lab-card-workgroup",
  inputs: {},
  outputs: { result: "vec4<f32>" },
  uniforms: { turns: "u32", stride: "u32" },
  workgroup: [THREADS, 1],
  header: `var<workgroup> held: array<vec4f, ${WORDS}>;`,
  body: `
    for (var i = local.x; i < ${WORDS}u; i += ${THREADS}u) { held[i] = vec4f(f32(i + group.x)); }
    workgroupBarrier();
    var sum = vec4f(0);
    var at = local.x;
    for (var t = 0u; t < u.turns; t++) {
      sum += held[at & ${WORDS - 1}u];
      at += u.stride;
    }
    result[group.x * ${THREADS}u + local.x] = sum;`,
};

const NOTHING: GpuProgram = {
  name: "lab-card-nothing",
  inputs: {},
  outputs: { result: "vec4<f32>" },
  uniforms: { stop: "u32" },
  workgroup: [1, 1],
  body: "if (u.stop == 0u) { result[0] = vec4f(1); }",
};

async function workgroupRate(device: GPUDevice, now: () => number, sizes: CardSizes): Promise<number> {
  const groups = sizes === "1B" ? 1024 : 16;
  const turns = sizes === "1B" ? 4096 : 256;
  const { seconds } = await dispatched(device, now, WORKGROUP, [turns, THREADS], groups, 1);
  return (16 * groups * THREADS * turns) / seconds;
}

async function emptyDispatch(device: GPUDevice, now: () => number): Promise<number> {
  const one = await dispatched(device, now, NOTHING, [1], 1, 1);
  const many = await dispatched(device, now, NOTHING, [1], 1, 1 + EMPTY);
  return Math.max(0, many.seconds - one.seconds) / EMPTY;
}

/** Seconds for that many equal dispatches in one pass and one submit. */
async function dispatched(
  device: GPUDevice,
  now: () => number,
  program: GpuProgram,
  uniforms: readonly number[],
  groups: number,
  times: number,
): Promise<{ readonly seconds: number }> {
  const { pipeline, layout } = compile(device, program);
  const block = device.createBuffer({ size: 16, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
  const result = device.createBuffer({ size: 16 * groups * THREADS, usage: GPUBufferUsage.STORAGE });
  device.queue.writeBuffer(block, 0, Uint32Array.from(uniforms));
  const entries = [block, result].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout, entries });
  const seconds = await timed(device, now, () => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    for (let n = 0; n < times; n++) pass.dispatchWorkgroups(groups);
    pass.end();
    device.queue.submit([encoder.finish()]);
  });
  block.destroy();
  result.destroy();
  return { seconds };
}

async function emptySubmit(device: GPUDevice, now: () => number): Promise<number> {
  const seconds = await timed(device, now, () => {
    for (let n = 0; n < SUBMITS; n++) device.queue.submit([device.createCommandEncoder().finish()]);
  });
  return seconds / SUBMITS;
}

async function readBack(now: () => number): Promise<number> {
  const x = tf.ones([1]);
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const began = now();
    const y = x.square();
    await y.data();
    y.dispose();
    if (round > 0) times.push((now() - began) / 1000);
  }
  x.dispose();
  return median(times);
}
