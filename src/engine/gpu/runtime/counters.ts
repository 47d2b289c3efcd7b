/**
 * Counts the calls of our device. Counting is cheap enough to be always on, and equal on every adapter. It includes
 * stock ops, custom programs and decoding. Counts only grow, also across devices; subtract two of them for a span.
 */
import { WorkInFlight } from "./in-flight.ts";
import { PassClock } from "./pass-clock.ts";

export interface GpuCounts {
  readonly dispatches: number;
  /** Calls of queue.submit. */
  readonly submits: number;
  /** Buffers mapped for reading, and the bytes read; timestamps of passes do not count. */
  readonly readBacks: number;
  readonly readBytes: number;
  /** Bytes written by the host: queue.writeBuffer, and buffers created with contents. */
  readonly writtenBytes: number;
  /** GPU buffers created, and their bytes; buffers reused from a pool do not count. */
  readonly buffers: number;
  readonly bufferBytes: number;
  /** Compute pipelines created. Most drivers compile a program then, some when it first runs. */
  readonly programs: number;
}

export type CountName = keyof GpuCounts;

const total: Record<CountName, number> = {
  dispatches: 0,
  submits: 0,
  readBacks: 0,
  readBytes: 0,
  writtenBytes: 0,
  buffers: 0,
  bufferBytes: 0,
  programs: 0,
};

/** Memory of a device: bytes of its live buffers, what its GPU has not finished, and the maximum of both so far. */
interface Held {
  live: number;
  peak: number;
  readonly inFlight: WorkInFlight | undefined;
}

let held: Held = { live: 0, peak: 0, inFlight: undefined };

/** Bytes of the live buffers of the newest device. */
export function liveBytes(): number {
  return held.live;
}

/** Bytes that the newest device holds: live buffers, and destroyed ones that the GPU may still use. */
export function heldBytes(): number {
  return held.live + (held.inFlight?.bytes ?? 0);
}

/** Peak of `heldBytes` since the last call. */
export function peakBytes(): number {
  const { peak } = held;
  held.peak = heldBytes();
  return peak;
}

/** What the newest device has not finished; undefined before the first device. */
export function workInFlight(): WorkInFlight | undefined {
  return held.inFlight;
}

export const COUNT_NAMES = Object.keys(total) as readonly CountName[];

/** Counts since this thread began. */
export function gpuCounts(): GpuCounts {
  return { ...total };
}

/** The difference between a count and a later one. */
export function countsBetween(before: GpuCounts, after: GpuCounts): GpuCounts {
  return addCounts(after, before, -1);
}

/** Sum of two counts, the second one times `factor`. */
export function addCounts(one: GpuCounts, other: GpuCounts, factor = 1): GpuCounts {
  const sum = { ...one } as Record<CountName, number>;
  for (const name of COUNT_NAMES) sum[name] += factor * other[name];
  return sum;
}

let clock: PassClock | undefined;

/** Times the compute passes of the newest device; undefined without timestamp queries. */
export function passClock(): PassClock | undefined {
  return clock;
}

/**
 * Starts counting on a new device, before anything else reads its queue or makes encoders.
 * @param onRefused called with the reason when a buffer cannot be read
 */
export function watchDevice(device: GPUDevice, onRefused: (reason: unknown) => void): void {
  const createBuffer: GPUDevice["createBuffer"] = device.createBuffer.bind(device);
  const own = device.features.has("timestamp-query") ? new PassClock(device, createBuffer) : undefined;
  clock = own;
  const queue: GPUQueue = device.queue;
  const inFlight = new WorkInFlight(queue);
  const memory: Held = { live: 0, peak: 0, inFlight };
  held = memory;
  // Some implementations return a new wrapper at every read of `queue`; all readers must get the wrapper that counts.
  Object.defineProperty(device, "queue", { value: queue, configurable: true });
  watchQueue(queue, inFlight);
  device.createBuffer = (descriptor) => {
    const buffer: GPUBuffer = createBuffer(descriptor);
    total.buffers++;
    total.bufferBytes += descriptor.size;
    watchLife(buffer, memory, inFlight);
    if (descriptor.mappedAtCreation === true) total.writtenBytes += descriptor.size;
    if ((descriptor.usage & GPUBufferUsage.MAP_READ) !== 0) watchReads(buffer, inFlight, onRefused);
    return buffer;
  };
  const createPipeline: GPUDevice["createComputePipeline"] = device.createComputePipeline.bind(device);
  device.createComputePipeline = (descriptor) => {
    total.programs++;
    return createPipeline(descriptor);
  };
  const createAhead: GPUDevice["createComputePipelineAsync"] = device.createComputePipelineAsync.bind(device);
  device.createComputePipelineAsync = (descriptor) => {
    total.programs++;
    return createAhead(descriptor);
  };
  const createCommandEncoder: GPUDevice["createCommandEncoder"] = device.createCommandEncoder.bind(device);
  device.createCommandEncoder = (descriptor) => {
    const encoder: GPUCommandEncoder = createCommandEncoder(descriptor);
    const begin: GPUCommandEncoder["beginComputePass"] = encoder.beginComputePass.bind(encoder);
    encoder.beginComputePass = (given) => {
      const timestampWrites = given?.timestampWrites ?? own?.next();
      return watchPass(begin(timestampWrites === undefined ? given : { ...given, timestampWrites }));
    };
    return encoder;
  };
}

function watchLife(buffer: GPUBuffer, memory: Held, inFlight: WorkInFlight): void {
  memory.live += buffer.size;
  memory.peak = Math.max(memory.peak, memory.live + inFlight.bytes);
  const destroy: GPUBuffer["destroy"] = buffer.destroy.bind(buffer);
  let alive = true;
  buffer.destroy = () => {
    if (alive) {
      memory.live -= buffer.size;
      inFlight.destroyed(buffer);
    }
    alive = false;
    return destroy();
  };
}

function watchQueue(queue: GPUQueue, inFlight: WorkInFlight): void {
  const submit: GPUQueue["submit"] = queue.submit.bind(queue);
  queue.submit = (buffers) => {
    total.submits++;
    inFlight.submitted();
    return submit(buffers);
  };
  const writeBuffer = queue.writeBuffer.bind(queue);
  queue.writeBuffer = ((buffer: GPUBuffer, offset: number, data: BufferSource, from?: number, size?: number) => {
    // For a typed array, start and size are in elements.
    const unit = "BYTES_PER_ELEMENT" in data ? (data.BYTES_PER_ELEMENT as number) : 1;
    total.writtenBytes += size === undefined ? data.byteLength - (from ?? 0) * unit : size * unit;
    return writeBuffer(buffer, offset, data, from, size);
  }) as GPUQueue["writeBuffer"];
}

function watchPass(pass: GPUComputePassEncoder): GPUComputePassEncoder {
  const dispatch: GPUComputePassEncoder["dispatchWorkgroups"] = pass.dispatchWorkgroups.bind(pass);
  pass.dispatchWorkgroups = (x, y, z) => {
    total.dispatches++;
    return dispatch(x, y, z);
  };
  return pass;
}

/** A buffer is mapped right after the submit that fills it, and the queue works in order. */
function watchReads(buffer: GPUBuffer, inFlight: WorkInFlight, onRefused: (reason: unknown) => void): void {
  const mapAsync: GPUBuffer["mapAsync"] = buffer.mapAsync.bind(buffer);
  buffer.mapAsync = (mode, offset, size) => {
    total.readBacks++;
    total.readBytes += size ?? buffer.size - (offset ?? 0);
    const mapped = mapAsync(mode, offset, size);
    inFlight.read(mapped);
    mapped.catch(onRefused);
    return mapped;
  };
}
