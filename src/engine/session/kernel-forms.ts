/**
 * The tuning table of a session: loads it once, measures it, imports it, and replaces it while a run uses its own
 * table.
 */

import { type FormTable, holdShapes, seenShapes, setFormTable } from "../gpu/forms/active.ts";
import type { EngineDevice } from "../gpu/runtime/device.ts";
import { measureThroughput, peakRate, type Throughput } from "../gpu/runtime/peak.ts";
import type { SessionDeps } from "../rl/run/session-types.ts";
import {
  emptyTable,
  formsOf,
  mergedTable,
  parseTable,
  storedTable,
  storeTable,
  type TuningEntry,
  type TuningTable,
} from "../tuning/table.ts";
import { byWork, type TunerOptions, tableIdentity, tuneShapes } from "../tuning/tuner.ts";

/** The speed of a session's device, measured once, while nothing else runs. */
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

/** Number of multiply-add runs; the first one compiles. */
const PEAK_RUNS = 6;

/** How kernels are tuned; all fields are optional. */
interface TuneOptions extends Omit<Partial<TunerOptions>, "check"> {
  /**
   * Measures the adapter's multiply-adds in floating-point operations per second; by default several runs timed by the
   * session's clock.
   */
  readonly peak?: () => Promise<number>;
  /** Maximum number of buckets; those with the most arithmetic are measured. */
  readonly most?: number;
}

/** Parts of the session that the forms use. */
interface Owner {
  readonly device: EngineDevice;
  whileIdle<T>(use: "tune", work: () => Promise<T>): Promise<T>;
}

export class KernelForms {
  readonly #deps: Pick<SessionDeps, "tables" | "now">;
  readonly #owner: Owner;
  readonly #rate: DeviceRate;
  #table: Promise<TuningTable> | undefined;
  /** The table; undefined until it is loaded. */
  #own: TuningTable | undefined;

  constructor(deps: Pick<SessionDeps, "tables" | "now">, owner: Owner, rate: DeviceRate) {
    this.#deps = deps;
    this.#owner = owner;
    this.#rate = rate;
  }

  /** The table of new runs: the one stored for this adapter, browser and programs, until another one replaces it. */
  async table(): Promise<TuningTable> {
    this.#table ??= (async () => {
      const of = await tableIdentity(this.#owner.device.report);
      const { tables } = this.#deps;
      return tables === undefined ? emptyTable(of) : await storedTable(tables, of);
    })();
    return this.#table;
  }

  /** Makes kernels use the session's table. */
  async activate(): Promise<void> {
    this.#own = await this.table();
    setFormTable(formsOf(this.#own));
  }

  /** Makes kernels use a run's table, or the built-in forms if it has none. Returns a function that undoes this. */
  activateFor(run: TuningTable | undefined): () => void {
    const forms = (table: TuningTable | undefined): FormTable => (table === undefined ? new Map() : formsOf(table));
    setFormTable(forms(run));
    return () => setFormTable(forms(this.#own));
  }

  /**
   * Imports a table from JSON, possibly measured on another machine, and stores it for this adapter. If this device
   * cannot run a form, the built-in form runs.
   * @param file file name for messages
   * @throws LabError naming the file and what is invalid, or the current use; the table stays as it was
   */
  async take(json: string, file: string): Promise<TuningTable> {
    const table = parseTable(json, file);
    return this.#owner.whileIdle("tune", async () => this.#keep({ ...table, of: (await this.table()).of }));
  }

  async #keep(table: TuningTable): Promise<TuningTable> {
    this.#table = Promise.resolve(table);
    await this.activate();
    if (this.#deps.tables !== undefined) await storeTable(this.#deps.tables, table);
    return table;
  }

  /**
   * Measures the forms of the shapes that this thread has computed, with exclusive use of the device.
   * @param again also measures buckets that already have an entry
   * @throws LabError naming the current use, or "cancelled" when the signal aborts; entries measured before that are
   * kept
   */
  async tune(again: boolean, options: TuneOptions = {}): Promise<TuningTable> {
    return this.#owner.whileIdle("tune", () => this.#measure(again, options));
  }

  async #measure(again: boolean, options: TuneOptions): Promise<TuningTable> {
    await this.#rate.quiet();
    const before = await this.table();
    const known = new Set(again ? [] : before.entries.map(({ bucket }) => bucket));
    const missing = byWork(seenShapes()).filter(({ bucket }) => !known.has(bucket));
    const entries: TuningEntry[] = [];
    const check = (): Promise<void> => this.#owner.device.checkAll();
    const forget = holdShapes();
    const given = { now: this.#deps.now, ...options, check };
    let { peak } = before;
    try {
      const clock = (): number => 1000 * this.#deps.now();
      if (again || peak === null) peak = await (options.peak ?? (() => peakRate("f32", clock, PEAK_RUNS)))();
      for await (const entry of tuneShapes(missing.slice(0, options.most), given)) entries.push(entry);
    } finally {
      forget();
      await this.#keep({ ...mergedTable(before, entries), peak });
    }
    return this.table();
  }
}
