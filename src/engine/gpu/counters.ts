/**
 * Counts what is asked of our device: cheap enough to be always on, and the same on every adapter. The calls of the device
 * itself are counted, so stock ops, own programs and decoding all are in. Counts only grow, across devices too; whoever
 * wants those of a span takes the difference.
 */

export interface GpuCounts {
  readonly dispatches: number;
  /** Calls of queue.submit. */
  readonly submits: number;
  /** Buffers mapped for reading. */
  readonly readBacks: number;
  /** GPU buffers made, and their bytes; buffers taken from a pool are not made. */
  readonly buffers: number;
  readonly bytes: number;
}

const total = { dispatches: 0, submits: 0, readBacks: 0, buffers: 0, bytes: 0 };

/** Counts since this thread began. */
export function gpuCounts(): GpuCounts {
  return { ...total };
}

/** What happened from one count to a later one. */
export function countsBetween(before: GpuCounts, after: GpuCounts): GpuCounts {
  return addCounts(after, before, -1);
}

/** Sum of two counts, the second one times `factor`. */
export function addCounts(one: GpuCounts, other: GpuCounts, factor = 1): GpuCounts {
  return {
    dispatches: one.dispatches + factor * other.dispatches,
    submits: one.submits + factor * other.submits,
    readBacks: one.readBacks + factor * other.readBacks,
    buffers: one.buffers + factor * other.buffers,
    bytes: one.bytes + factor * other.bytes,
  };
}

/** Starts counting on a new device, before anything else holds its queue or makes encoders. */
export function countCalls(device: GPUDevice): void {
  const queue: GPUQueue = device.queue;
  // Some implementations make a new wrapper at every read of `queue`; whoever reads it must get the watched one.
  Object.defineProperty(device, "queue", { value: queue, configurable: true });
  const submit: GPUQueue["submit"] = queue.submit.bind(queue);
  queue.submit = (buffers) => {
    total.submits++;
    return submit(buffers);
  };
  const createBuffer: GPUDevice["createBuffer"] = device.createBuffer.bind(device);
  device.createBuffer = (descriptor) => {
    const buffer: GPUBuffer = createBuffer(descriptor);
    total.buffers++;
    total.bytes += descriptor.size;
    if ((descriptor.usage & GPUBufferUsage.MAP_READ) !== 0) countReads(buffer);
    return buffer;
  };
  const createCommandEncoder: GPUDevice["createCommandEncoder"] = device.createCommandEncoder.bind(device);
  device.createCommandEncoder = (descriptor) => {
    const encoder: GPUCommandEncoder = createCommandEncoder(descriptor);
    const beginComputePass: GPUCommandEncoder["beginComputePass"] = encoder.beginComputePass.bind(encoder);
    encoder.beginComputePass = (given) => countDispatches(beginComputePass(given));
    return encoder;
  };
}

function countDispatches(pass: GPUComputePassEncoder): GPUComputePassEncoder {
  const dispatch: GPUComputePassEncoder["dispatchWorkgroups"] = pass.dispatchWorkgroups.bind(pass);
  pass.dispatchWorkgroups = (x, y, z) => {
    total.dispatches++;
    return dispatch(x, y, z);
  };
  return pass;
}

function countReads(buffer: GPUBuffer): void {
  const mapAsync: GPUBuffer["mapAsync"] = buffer.mapAsync.bind(buffer);
  buffer.mapAsync = (mode, offset, size) => {
    total.readBacks++;
    return mapAsync(mode, offset, size);
  };
}
