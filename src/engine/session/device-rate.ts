/** The speed of a session's device, measured once, while nothing else runs. */
import { measureThroughput, type Throughput } from "../gpu/runtime/throughput.ts";

export class DeviceRate {
  readonly #now: () => number;
  #rate: Promise<Throughput> | undefined;

  /** @param now seconds, monotonic */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The rate; measured now if unknown and the device is idle, else undefined. */
  async measured(idle: boolean): Promise<Throughput | undefined> {
    if (this.#rate === undefined && idle) {
      this.#rate = measureThroughput(this.#now);
      // After a failure, the next call measures again.
      this.#rate.catch(() => this.forget());
    }
    return this.#rate;
  }

  /**
   * Waits for a running measurement, whose GPU work would otherwise count as the caller's. Its error goes to the
   * request that started it.
   */
  async quiet(): Promise<Throughput | null> {
    return (await this.#rate?.catch(() => null)) ?? null;
  }

  /** Drops the rate, because the device has changed. */
  forget(): void {
    this.#rate = undefined;
  }
}
