/** The tuning table of a session: loads it once, imports it, and replaces it while a run uses its own table. */

import { sha256Hex } from "../bytes/hash.ts";
import { type FormTable, formLimits, setFormTable } from "../gpu/forms/active.ts";
import { type MatrixUnit, PRODUCT_FORMS, type ProductForm } from "../gpu/forms/records.ts";
import { attentionPrograms } from "../gpu/kernels/attention/attention-tiles.ts";
import { usualProducts } from "../gpu/matmul/matmul-program.ts";
import { plainProgram } from "../gpu/matmul/plain-product.ts";
import type { Arithmetic } from "../gpu/packed/half.ts";
import { backwardProgram, forwardProgram } from "../gpu/packed/programs.ts";
import type { EngineDevice, GpuReport } from "../gpu/runtime/device.ts";
import { type GpuProgram, shaderSource } from "../gpu/runtime/pipelines.ts";
import { measureThroughput, type Throughput } from "../gpu/runtime/throughput.ts";
import { tf } from "../gpu/tf.ts";
import type { LabHost } from "../rl/run/lab.ts";
import {
  emptyTable,
  formsOf,
  parseTable,
  storedTable,
  storeTable,
  type TableIdentity,
  type TuningTable,
} from "../tuning/table.ts";

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

/** Parts of the session that the forms use. */
interface Owner {
  readonly device: EngineDevice;
  whileIdle<T>(use: "tune", work: () => Promise<T>): Promise<T>;
}

export class KernelForms {
  readonly #host: Pick<LabHost, "tables" | "now">;
  readonly #owner: Owner;
  readonly #rate: DeviceRate;
  #table: Promise<TuningTable> | undefined;
  /** The table; undefined until it is loaded. */
  #own: TuningTable | undefined;

  constructor(host: Pick<LabHost, "tables" | "now">, owner: Owner, rate: DeviceRate) {
    this.#host = host;
    this.#owner = owner;
    this.#rate = rate;
  }

  /** The session's clock, in seconds. */
  get now(): () => number {
    return this.#host.now;
  }

  /** Waits for a running measurement of the device's rate. */
  async quiet(): Promise<void> {
    await this.#rate.quiet();
  }

  /** The table of new runs: the one stored for this adapter, browser and programs, until another one replaces it. */
  async table(): Promise<TuningTable> {
    this.#table ??= (async () => {
      const of = await tableIdentity(this.#owner.device.report);
      const { tables } = this.#host;
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
    return this.#owner.whileIdle("tune", async () => this.keep({ ...table, of: (await this.table()).of }));
  }

  /** Makes a table of this adapter the session's, and stores it. The caller has exclusive use of the device. */
  async keep(table: TuningTable): Promise<TuningTable> {
    this.#table = Promise.resolve(table);
    await this.activate();
    if (this.#host.tables !== undefined) await storeTable(this.#host.tables, table);
    return table;
  }
}

// The conditions that measured times depend on: adapter, browser and programs.

/** Identity of this device in this browser. */
async function tableIdentity({ vendor, architecture, description }: GpuReport): Promise<TableIdentity> {
  const tiles = Object.values<ProductForm>(PRODUCT_FORMS).flatMap((tile) => {
    const unit = formLimits().unit;
    if (tile.kind !== "tiles" || (tile.matrices && unit === undefined)) return [];
    const packed = (type: Arithmetic, unit?: MatrixUnit): GpuProgram[] => [
      forwardProgram("q4", { tile, type, unit }, false),
      backwardProgram("q4", { tile, type, unit }, false),
    ];
    if (tile.matrices) return packed("f16", unit);
    const loads = tile.vectors ? 4 : 1;
    const along = { a: true, b: true };
    const form = { tile, loads, along, bounded: false, end: "extras" } as const;
    const plain = plainProgram({ ...form, twice: true, activates: false });
    return [plain, ...packed("f32"), ...packed("f16")];
  });
  const sources = [...usualProducts(), ...tiles, ...attentionPrograms()].map(shaderSource);
  const kernels = await sha256Hex(new TextEncoder().encode([tf.version_core, ...sources].join("\n")));
  const cut = (given: string): string => given.slice(0, 200);
  return {
    vendor: cut(vendor),
    architecture: cut(architecture),
    description: cut(description),
    browser: cut(globalThis.navigator?.userAgent ?? "node"),
    kernels: kernels.slice(0, 16),
  };
}
