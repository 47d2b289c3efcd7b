/** Append-only columns per run, outside React; charts read them when they redraw. */
import type { StepMetrics } from "../../../engine/runs/rollouts/records.ts";

const FIRST_CAPACITY = 256;

interface Column {
  values: Float64Array<ArrayBuffer>;
  /** 1 where the step has no value of this name; a stored NaN is a value. */
  missing: Uint8Array<ArrayBuffer>;
}

/** One run's metrics: a step column and one column per metric name. */
export class MetricStore {
  #length = 0;
  #steps = new Float64Array(FIRST_CAPACITY);
  readonly #columns = new Map<string, Column>();
  readonly #listeners = new Set<() => void>();

  /** Number of steps held. */
  get length(): number {
    return this.#length;
  }

  /** Names seen so far, sorted. */
  get names(): readonly string[] {
    return [...this.#columns.keys()].sort();
  }

  /** Step numbers, ascending; a view that is valid until the next append. */
  get steps(): Float64Array {
    return this.#steps.subarray(0, this.#length);
  }

  /** The steps again: curves are drawn over steps unless along another axis. */
  get xs(): Float64Array {
    return this.steps;
  }

  /** Values of one metric, aligned with `steps`; NaN if the step has none (see isMissing). */
  column(name: string): Float64Array {
    const column = this.#columns.get(name);
    return column === undefined
      ? new Float64Array(this.#length).fill(Number.NaN)
      : column.values.subarray(0, this.#length);
  }

  /** Whether the step was logged without this metric; false for a logged NaN. */
  isMissing(name: string, index: number): boolean {
    return this.#columns.get(name)?.missing[index] !== 0;
  }

  /** Newest value of a metric; null if it was never logged. */
  latest(name: string): number | null {
    const column = this.#columns.get(name);
    if (column === undefined) return null;
    for (let at = this.#length - 1; at >= 0; at--) if (column.missing[at] === 0) return column.values[at] ?? null;
    return null;
  }

  /** Metrics of a step as they were logged. @param index place of the step in `steps` */
  row(index: number): StepMetrics {
    const logged = [...this.#columns].filter(([, { missing }]) => missing[index] === 0);
    return Object.fromEntries(logged.map(([name, { values }]) => [name, values[index] as number]));
  }

  /** Adds a step; drops points at or after it first, so that steps stay ascending after a resume. */
  append(step: number, metrics: StepMetrics): void {
    this.#put(step, metrics);
    this.#tell();
  }

  /** Adds many steps and notifies the listeners once. */
  load(rows: readonly { readonly step: number; readonly metrics: StepMetrics }[]): void {
    for (const row of rows) this.#put(row.step, row.metrics);
    this.#tell();
  }

  /** Drops the steps after one: a resumed run does them again. */
  keepTo(step: number): void {
    this.#drop(step + 1);
    this.#tell();
  }

  /** Calls back after every change. @returns the function that stops it */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Drops a step and those after it. */
  #drop(step: number): void {
    while (this.#length > 0 && (this.#steps[this.#length - 1] as number) >= step) this.#length--;
  }

  #put(step: number, metrics: StepMetrics): void {
    this.#drop(step);
    if (this.#length === this.#steps.length) this.#grow();
    const at = this.#length++;
    this.#steps[at] = step;
    for (const column of this.#columns.values()) {
      column.values[at] = Number.NaN;
      column.missing[at] = 1;
    }
    for (const [name, value] of Object.entries(metrics)) {
      const column = this.#columns.get(name) ?? this.#add(name);
      column.values[at] = value;
      column.missing[at] = 0;
    }
  }

  #add(name: string): Column {
    const size = this.#steps.length;
    const column = { values: new Float64Array(size).fill(Number.NaN), missing: new Uint8Array(size).fill(1) };
    this.#columns.set(name, column);
    return column;
  }

  #grow(): void {
    const size = this.#steps.length * 2;
    this.#steps = copied(this.#steps, new Float64Array(size));
    for (const column of this.#columns.values()) {
      column.values = copied(column.values, new Float64Array(size).fill(Number.NaN));
      column.missing = copied(column.missing, new Uint8Array(size).fill(1));
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

function copied<A extends Float64Array<ArrayBuffer> | Uint8Array<ArrayBuffer>>(from: A, to: A): A {
  to.set(from);
  return to;
}

const stores = new Map<string, MetricStore>();

/** The store of a run, created on first use. */
export function metricStore(runId: string): MetricStore {
  let store = stores.get(runId);
  if (store === undefined) {
    store = new MetricStore();
    stores.set(runId, store);
  }
  return store;
}

/**
 * Fills the store of a run with the steps of its folder that it lacks: a run that was resumed here has only the later ones.
 * Steps that arrived since the folder was read stay.
 */
export function fillMetrics(runId: string, rows: readonly StepMetrics[]): void {
  const store = metricStore(runId);
  const stored = numbered(rows);
  const end = stored.at(-1)?.step ?? 0;
  const held = [...store.steps];
  if (held.filter((step) => step <= end).length === stored.length) return;
  const newer = held.flatMap((step, at) => (step > end ? [{ step, metrics: store.row(at) }] : []));
  store.load([...stored, ...newer]);
}

/** Replaces the contents of a run's store with those of its folder. */
export function replaceMetrics(runId: string, rows: readonly StepMetrics[]): void {
  metricStore(runId).load(numbered(rows));
}

function numbered(rows: readonly StepMetrics[]): { readonly step: number; readonly metrics: StepMetrics }[] {
  return rows.map((metrics, at) => ({ step: metrics.step ?? at + 1, metrics }));
}

/** Frees the columns of a deleted run. */
export function forgetMetrics(runId: string): void {
  stores.delete(runId);
}
