/** The tuning table of a session: loaded once, measured, imported, and put aside while a run computes with its own. */
import { type FormTable, holdShapes, seenShapes, setFormTable } from "../gpu/forms/active.ts";
import type { EngineDevice } from "../gpu/runtime/device.ts";
import { peakRate } from "../gpu/runtime/peak.ts";
import type { SessionDeps } from "../rl/run/session-types.ts";
import { tableIdentity } from "../tuning/identity.ts";
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
import { byWork, type TunerOptions, tuneShapes } from "../tuning/tuner.ts";
import type { DeviceRate } from "./device-rate.ts";

/** Runs of the multiply-adds, the first of which compiles. */
const PEAK_RUNS = 6;

/** How kernels are tuned; everything may be left out. */
export interface TuneOptions extends Omit<Partial<TunerOptions>, "check"> {
  /** Measures the adapter's multiply-adds, floating-point operations a second; by default some runs by the session's clock. */
  readonly peak?: () => Promise<number>;
  /** Buckets at most, those with the most arithmetic. */
  readonly most?: number;
}

/** What the forms use of their session. */
interface Owner {
  readonly device: EngineDevice;
  whileIdle<T>(use: "tune", work: () => Promise<T>): Promise<T>;
}

export class KernelForms {
  readonly #deps: Pick<SessionDeps, "tables" | "now">;
  readonly #owner: Owner;
  readonly #rate: DeviceRate;
  #table: Promise<TuningTable> | undefined;
  /** The table, once it is loaded. */
  #own: TuningTable | undefined;

  constructor(deps: Pick<SessionDeps, "tables" | "now">, owner: Owner, rate: DeviceRate) {
    this.#deps = deps;
    this.#owner = owner;
    this.#rate = rate;
  }

  /** The table of new runs: the one stored for this adapter, browser and programs, until another is taken. */
  async table(): Promise<TuningTable> {
    this.#table ??= (async () => {
      const of = await tableIdentity(this.#owner.device.report);
      const { tables } = this.#deps;
      return tables === undefined ? emptyTable(of) : await storedTable(tables, of);
    })();
    return this.#table;
  }

  /** Makes the session's table the one that kernels ask. */
  async activate(): Promise<void> {
    this.#own = await this.table();
    setFormTable(formsOf(this.#own));
  }

  /** Makes a run's table the one that kernels ask, the built-in forms if it has none; returns what undoes it. */
  activateFor(run: TuningTable | undefined): () => void {
    const forms = (table: TuningTable | undefined): FormTable => (table === undefined ? new Map() : formsOf(table));
    setFormTable(forms(run));
    return () => setFormTable(forms(this.#own));
  }

  /**
   * Takes a table from its JSON, also one that was measured elsewhere, and stores it for this adapter. Where this device
   * cannot run a form, the built-in one runs.
   * @param file for messages
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
   * @param again measures buckets that have an entry as well
   * @throws LabError naming the current use, or "cancelled" when the signal aborts; entries measured until then are kept
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
