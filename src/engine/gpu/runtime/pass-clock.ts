/**
 * GPU time, by timestamp queries at both ends of every compute pass
 * (docs/spec/webgpu.md#8-sync-clocks-isolation-canvas). A pass counts under the label that is set when it starts.
 * Browsers round timestamps to 0.1 ms: sums over many passes are accurate, single passes are not.
 */
import { LabError } from "../../errors.ts";

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
