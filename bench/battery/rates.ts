/** A card's roofline: arithmetic, copies, dispatches, and the way from the GPU to the host and back. */
import type { EngineDevice } from "../../src/engine/gpu/runtime/device.ts";
import { measureThroughput } from "../../src/engine/gpu/runtime/throughput.ts";
import { tf } from "../../src/engine/gpu/tf.ts";
import { peakRates } from "../peak.ts";
import { median } from "../row.ts";
import { wallClock } from "../turns.ts";

const ROUNDS = 9;
const COPY_BYTES = 2 ** 26;
const COPIES = 8;

export interface Roofline {
  /** Multiply-adds from registers, FLOP/s; f16 is 0 without half-precision programs. */
  readonly f32: number;
  readonly f16: number;
  /** Products of 128 rows as training takes them, FLOP/s. */
  readonly products: number;
  /** Bytes a second, read and written, of buffer copies. */
  readonly copy: number;
  /** Seconds of a small operation among many, and of one that is read back. */
  readonly dispatch: number;
  readonly readBack: number;
}

export async function roofline({ device }: EngineDevice): Promise<Roofline> {
  const peak = await peakRates(wallClock);
  const { flops, dispatch } = await measureThroughput(() => performance.now() / 1000);
  return { ...peak, products: flops, copy: await copyRate(device), dispatch, readBack: await readBackSeconds() };
}

async function copyRate(device: GPUDevice): Promise<number> {
  const usage = GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const [from, to] = [
    device.createBuffer({ size: COPY_BYTES, usage }),
    device.createBuffer({ size: COPY_BYTES, usage }),
  ];
  const rates: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const encoder = device.createCommandEncoder();
    for (let copy = 0; copy < COPIES; copy++) encoder.copyBufferToBuffer(from, 0, to, 0, COPY_BYTES);
    const began = performance.now();
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
    // The first round makes the memory present.
    if (round > 0) rates.push((2 * COPIES * COPY_BYTES) / ((performance.now() - began) / 1000));
  }
  from.destroy();
  to.destroy();
  return median(rates);
}

async function readBackSeconds(): Promise<number> {
  const x = tf.ones([1]);
  const times: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const began = performance.now();
    const y = x.square();
    await y.data();
    y.dispose();
    if (round > 0) times.push((performance.now() - began) / 1000);
  }
  x.dispose();
  return median(times);
}
