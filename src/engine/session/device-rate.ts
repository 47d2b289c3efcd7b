/** The measured speed of a session's device: once, while nothing else runs. */
import { measureThroughput, type Throughput } from "../gpu/runtime/throughput.ts";

export class DeviceRate {
  readonly #now: () => number;
  #rate: Promise<Throughput> | undefined;

  /** @param now seconds, monotonic */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** The rate, measured now if it is not known and the device is idle; else undefined. */
  async measured(idle: boolean): Promise<Throughput | undefined> {
    if (this.#rate === undefined && idle) {
      this.#rate = measureThroughput(this.#now);
      // Measured again next time.
      this.#rate.catch(() => this.forget());
    }
    return this.#rate;
  }

  /** Waits for a running measurement, which would count as work of the caller. Its error goes to who asked for it. */
  async quiet(): Promise<Throughput | null> {
    return (await this.#rate?.catch(() => null)) ?? null;
  }

  /** The device is another one. */
  forget(): void {
    this.#rate = undefined;
  }
}
