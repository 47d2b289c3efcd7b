/** One row of the bench's tables, computed from the times of the rounds. Runs in Node and in a page. */

/** The participants: our kernels, stock TensorFlow.js, jax-js and onnxruntime-web. */
export type Baseline = "own" | "stock" | "jaxjs" | "ort";

/** Where the engine runs: under Node on Dawn, or in a page in headless Chromium. */
export type Where = "node" | "chromium";

/** Times in milliseconds per call, one per round, of every participant. */
export type Times = Partial<Record<Baseline, readonly number[]>>;

/** A `ratio_x` says how many times faster ours is than x; absent if x has no such function or was left out. */
export interface BenchRow {
  readonly suite: string;
  readonly case: string;
  readonly adapter: string;
  readonly where: Where;
  readonly own_ms: number;
  readonly stock_ms?: number;
  readonly ratio_stock?: number;
  /** Lowest and highest ratio over the rounds. */
  readonly ratio_range?: readonly [number, number];
  readonly jaxjs_ms?: number;
  readonly ratio_jaxjs?: number;
  readonly ort_ms?: number;
  readonly ratio_ort?: number;
  /** Present if onnxruntime-web's result differs from ours: root mean square of the difference, relative to ours. */
  readonly ort_error?: number;
  /** Our arithmetic per second as a share of the adapter's measured multiply-add rate. */
  readonly peak_fraction?: number;
  readonly rounds: number;
  /** Decoding: speed of sampled tokens relative to greedy tokens. */
  readonly ratio_greedy?: number;
  /** Decoding: throughput of the group relative to a single row. */
  readonly ratio_group?: number;
}

/** @returns NaN for an empty list */
export function median(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[middle]] as [number, number];
  return (low + high) / 2;
}

/** Ratios within the same round, so that a load on both cancels. */
function ratios(own: readonly number[], other: readonly number[]): number[] {
  const rounds = Math.min(own.length, other.length);
  return Array.from({ length: rounds }, (_, i) => (other[i] as number) / (own[i] as number));
}

export type RowNames = Pick<BenchRow, "suite" | "case" | "adapter" | "where">;

/**
 * Medians of the times, and of the ratios of neighbouring rounds. Baselines without a time are left out of the row.
 * @param flops floating-point operations of a call, if the share of the peak is meaningful
 * @param peak floating-point operations per second of the adapter
 */
export function benchRow(names: RowNames, times: Times, flops?: number, peak?: number): BenchRow {
  const { own = [], stock = [], jaxjs = [], ort = [] } = times;
  const customMs = median(own);
  const against = ratios(own, stock);
  return {
    ...names,
    own_ms: customMs,
    ...(against.length === 0
      ? {}
      : {
          stock_ms: median(stock),
          ratio_stock: median(against),
          ratio_range: [Math.min(...against), Math.max(...against)] as const,
        }),
    ...(jaxjs.length === 0 ? {} : { jaxjs_ms: median(jaxjs), ratio_jaxjs: median(ratios(own, jaxjs)) }),
    ...(ort.length === 0 ? {} : { ort_ms: median(ort), ratio_ort: median(ratios(own, ort)) }),
    ...(flops === undefined || peak === undefined || peak <= 0
      ? {}
      : { peak_fraction: flops / (customMs / 1000) / peak }),
    rounds: own.length,
  };
}

/** Geometric mean; NaN for an empty list. */
export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

/** Geometric mean of one ratio over the rows that have it, and the number of these rows. */
export function meanRatio(
  rows: readonly BenchRow[],
  ratio: "ratio_stock" | "ratio_jaxjs" | "ratio_ort",
): { readonly mean: number; readonly cases: number } {
  const found = rows.flatMap((row) => row[ratio] ?? []);
  return { mean: geometricMean(found), cases: found.length };
}

/** "against stock 5.10 (40 cases), jax-js 1.32 (20 cases)", for the participating peers; "" without any. */
export function summaryOf(rows: readonly BenchRow[]): string {
  const peers = [
    ["stock", "ratio_stock"],
    ["jax-js", "ratio_jaxjs"],
    ["onnxruntime-web", "ratio_ort"],
  ] as const;
  const parts = peers.flatMap(([name, key]) => {
    const { mean, cases } = meanRatio(rows, key);
    return cases === 0 ? [] : [`${name} ${mean.toFixed(2)} (${cases} ${cases === 1 ? "case" : "cases"})`];
  });
  return parts.length === 0 ? "" : `against ${parts.join(", ")}`;
}
