/**
 * Counts the calls of our device. Counting is cheap enough to be always on, and equal on every adapter. It includes
 * stock ops, custom programs and decoding. Counts only grow, also across devices; subtract two of them for a span.
 */
import { LabError } from "../../errors.ts";

// Work that the GPU has not finished, and the memory that it keeps. A destroyed buffer is freed only when the GPU
// has passed the last submit that uses it, so its bytes count as held until then
// (docs/spec/webgpu.md#4-memory-rules). The host learns that a submit is finished only when it waits for
// something; until then the submit counts as unfinished.

class WorkInFlight {
  readonly #queue: GPUQueue;
  #made = 0;
  #finished = 0;
  #bytes = 0;
  /** Bytes of destroyed buffers by the last submit that uses them. */
  readonly #destroyed = new Map<number, number>();
  /** Number of the last submit that uses a buffer of the pool. */
  readonly #uses = new WeakMap<GPUBuffer, number>();
  #listening = false;

  constructor(queue: GPUQueue) {
    this.#queue = queue;
  }

  /** Bytes of destroyed buffers that the GPU may still use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Submits that are not known to be finished. */
  get submits(): number {
    return this.#made - this.#finished;
  }

  /** Number of submits that are known to be finished. */
  get finishedSubmits(): number {
    return this.#finished;
  }

  /** Call it after every submit. */
  submitted(): void {
    this.#made++;
  }

  /**
   * Call it when nothing uses a buffer any more. @param recorded whether commands that are not submitted yet may use it
   */
  released(buffer: GPUBuffer, recorded: boolean): void {
    this.#uses.set(buffer, recorded ? this.#made + 1 : this.#made);
  }

  /** Whether commands that are not submitted yet may use a released buffer. */
  isRecorded(buffer: GPUBuffer): boolean {
    return (this.#uses.get(buffer) ?? 0) > this.#made;
  }

  /** Whether the GPU is known to have passed every use of a released buffer, so that destroying it frees its bytes. */
  isFinished(buffer: GPUBuffer): boolean {
    return (this.#uses.get(buffer) ?? this.#made) <= this.#finished;
  }

  /** Call it when a buffer is destroyed; one that was never released may be used by every submit so far. */
  destroyed(buffer: GPUBuffer): void {
    const last = this.#uses.get(buffer) ?? this.#made;
    if (last <= this.#finished) return;
    this.#destroyed.set(last, (this.#destroyed.get(last) ?? 0) + buffer.size);
    this.#bytes += buffer.size;
    void this.#listen();
  }

  /** Resolves when the GPU has finished every submit made so far, or is lost. */
  async finished(): Promise<void> {
    const made = this.#made;
    // A lost device holds no memory; gpu/runtime/device.ts reports the loss.
    await this.#queue.onSubmittedWorkDone().catch(() => undefined);
    this.#passed(made);
  }

  /** @param read resolves after every submit made so far; when it is refused, nothing is known */
  read(read: Promise<unknown>): void {
    const made = this.#made;
    void read.then(
      () => this.#passed(made),
      () => undefined,
    );
  }

  #passed(submit: number): void {
    this.#finished = Math.max(this.#finished, submit);
    for (const [last, bytes] of this.#destroyed) {
      if (last > this.#finished) continue;
      this.#bytes -= bytes;
      this.#destroyed.delete(last);
    }
  }

  /** One question at a time until no destroyed buffer is in use. */
  async #listen(): Promise<void> {
    if (this.#listening) return;
    this.#listening = true;
    while (this.#bytes > 0) await this.finished();
    this.#listening = false;
  }
}

// GPU time, by timestamp queries at both ends of every compute pass
// (docs/spec/webgpu.md#8-sync-clocks-isolation-canvas). A pass counts under the label that is set when it starts.
// Browsers round timestamps to 0.1 ms: sums over many passes are accurate, single passes are not.

/** Maximum queries per set. */
const SET_QUERIES = 4096;
/** If a step has more passes than these query sets hold, labels of the remaining passes have no time. */
const MAX_SETS = 4;
const STAMP_BYTES = 8;

export class PassClock {
  readonly #device: GPUDevice;
  readonly #createBuffer: GPUDevice["createBuffer"];
  readonly #sets: GPUQuerySet[] = [];
  #resolved: GPUBuffer | undefined;
  #staging: GPUBuffer | undefined;
  #label: string | null = null;
  /** Labels of the passes since the last reading, in start order. */
  #passes: string[] = [];
  #untimed = new Set<string>();

  /** @param createBuffer of the device, uncounted: reading timestamps is not work of a phase */
  constructor(device: GPUDevice, createBuffer: GPUDevice["createBuffer"]) {
    this.#device = device;
    this.#createBuffer = createBuffer;
  }

  /** Label of passes that start from now on; null leaves them untimed. */
  label(name: string | null): void {
    this.#label = name;
  }

  /** Forgets the passes since the last reading. */
  restart(): void {
    this.#passes = [];
    this.#untimed = new Set();
  }

  /** Where the next pass writes its two timestamps. */
  next(): GPUComputePassTimestampWrites | undefined {
    if (this.#label === null) return undefined;
    const query = 2 * this.#passes.length;
    const at = Math.floor(query / SET_QUERIES);
    if (at === MAX_SETS) {
      this.#untimed.add(this.#label);
      return undefined;
    }
    const querySet = this.#sets[at] ?? this.#device.createQuerySet({ type: "timestamp", count: SET_QUERIES });
    this.#sets[at] = querySet;
    this.#passes.push(this.#label);
    const first = query % SET_QUERIES;
    return { querySet, beginningOfPassWriteIndex: first, endOfPassWriteIndex: first + 1 };
  }

  /**
   * Seconds per label since the last reading; then restarts. Call it once all passes have been submitted. Passes of one
   * queue do not overlap. Labels with untimed passes are absent.
   * @throws LabError("gpu") when the device is lost
   */
  async read(): Promise<ReadonlyMap<string, number>> {
    const labels = this.#passes;
    const untimed = this.#untimed;
    this.restart();
    const seconds = new Map<string, number>();
    if (labels.length === 0) return seconds;
    const stamps = await this.#stamps(2 * labels.length);
    labels.forEach((label, pass) => {
      const [from, to] = [stamps[2 * pass] as bigint, stamps[2 * pass + 1] as bigint];
      // A clock reset between the two timestamps, or a dropped pass, gives no time.
      const nanoseconds = to > from ? Number(to - from) : 0;
      seconds.set(label, (seconds.get(label) ?? 0) + nanoseconds / 1e9);
    });
    for (const label of untimed) seconds.delete(label);
    return seconds;
  }

  async #stamps(queries: number): Promise<BigUint64Array> {
    const bytes = queries * STAMP_BYTES;
    if (this.#resolved === undefined || this.#resolved.size < bytes) {
      this.#resolved?.destroy();
      this.#staging?.destroy();
      const size = Math.ceil(bytes / (SET_QUERIES * 2)) * SET_QUERIES * 2;
      const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
      this.#resolved = this.#createBuffer({ label: "timestamps", size, usage: QUERY_RESOLVE | COPY_SRC });
      this.#staging = this.#createBuffer({ label: "timestamps, read", size, usage: COPY_DST | MAP_READ });
    }
    const staging = this.#staging as GPUBuffer;
    const encoder = this.#device.createCommandEncoder({ label: "timestamps" });
    for (const [at, set] of this.#sets.entries()) {
      const count = Math.min(SET_QUERIES, queries - at * SET_QUERIES);
      if (count > 0) encoder.resolveQuerySet(set, 0, count, this.#resolved, at * SET_QUERIES * STAMP_BYTES);
    }
    encoder.copyBufferToBuffer(this.#resolved, 0, staging, 0, bytes);
    this.#device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ, 0, bytes).catch((thrown: unknown) => {
      throw new LabError("gpu", `Timestamps could not be read back: ${(thrown as Error).message}`);
    });
    const stamps = new BigUint64Array(staging.getMappedRange(0, bytes).slice(0));
    staging.unmap();
    return stamps;
  }
}

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

type CountName = keyof GpuCounts;

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

const COUNT_NAMES = Object.keys(total) as readonly CountName[];

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
