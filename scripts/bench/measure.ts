/** Timing of several contenders in turn, so that all meet the same load of a shared machine. */

/** Who is measured: our kernels, stock TensorFlow.js, jax-js and onnxruntime-web. */
export type Contender = "own" | "stock" | "jaxjs" | "ort";

/** One line of a table; a `ratio_x` is how many times faster ours is than x. */
export interface BenchRow {
  readonly suite: string;
  readonly case: string;
  readonly adapter: string;
  readonly own_ms: number;
  readonly stock_ms: number;
  readonly ratio_stock: number;
  /** Lowest and highest ratio of the rounds. */
  readonly ratio_range: readonly [number, number];
  readonly jaxjs_ms?: number;
  readonly ratio_jaxjs?: number;
  readonly ort_ms?: number;
  readonly ratio_ort?: number;
  /** Arithmetic of our time as a share of the adapter's measured multiply-add rate. */
  readonly peak_fraction?: number;
  readonly rounds: number;
  /** Decoding: speed of sampled over that of greedy tokens. */
  readonly ratio_greedy?: number;
  /** Decoding: throughput of the group over that of a single row. */
  readonly ratio_group?: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[middle]] as [number, number];
  return (low + high) / 2;
}

/** Ratios of neighbouring rounds. */
function ratios(own: readonly number[], other: readonly number[]): number[] {
  return own.map((time, i) => (other[i] as number) / time);
}

/** Medians of both lists, and of the ratios of neighbouring rounds. */
export function benchRow(
  names: Pick<BenchRow, "suite" | "case" | "adapter">,
  own: readonly number[],
  stock: readonly number[],
  others: Partial<Record<"jaxjs" | "ort", readonly number[]>> = {},
): BenchRow {
  const times = ratios(own, stock);
  const { jaxjs, ort } = others;
  return {
    ...names,
    own_ms: median(own),
    stock_ms: median(stock),
    ratio_stock: median(times),
    ratio_range: [Math.min(...times), Math.max(...times)],
    ...(jaxjs === undefined ? {} : { jaxjs_ms: median(jaxjs), ratio_jaxjs: median(ratios(own, jaxjs)) }),
    ...(ort === undefined ? {} : { ort_ms: median(ort), ratio_ort: median(ratios(own, ort)) }),
    rounds: own.length,
  };
}

/** Geometric mean, NaN of nothing. */
export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

export function printRow(row: BenchRow, json: boolean): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(row)}\n`);
    return;
  }
  const [low, high] = row.ratio_range;
  const peer = (name: string, ratio: number | undefined): string =>
    ratio === undefined ? "" : `  ${name} x${ratio.toFixed(2)}`;
  const text = [
    row.case.padEnd(48),
    `${row.own_ms.toFixed(2).padStart(9)} ms`,
    `stock ${row.stock_ms.toFixed(2).padStart(9)} ms`,
    `x${row.ratio_stock.toFixed(2).padStart(6)} (${low.toFixed(2)} to ${high.toFixed(2)})`,
  ].join("  ");
  const peak = row.peak_fraction === undefined ? "" : `  ${(100 * row.peak_fraction).toFixed(1)} % of peak`;
  process.stdout.write(`${text}${peer("jax-js", row.ratio_jaxjs)}${peer("ort", row.ratio_ort)}${peak}\n`);
}

/** What a contender does once; resolves when the result is there. */
export type Run = () => Promise<void>;

/** Milliseconds that pass: on the wall, or in the processor for this process, which a busy machine stretches less. */
export type Clock = () => number;
export const wallClock: Clock = () => performance.now();
export const processorClock: Clock = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const CALLS = { least: 1, most: 20, milliseconds: 60 };

/**
 * Times of every contender in milliseconds a call, taken in turn. One call of each goes before and is not counted: it
 * compiles. Rounds end early when the case has used up its time; the first is always measured.
 * @param start records `calls` calls and resolves when the last is done
 */
export async function inTurn(
  contenders: Readonly<Partial<Record<Contender, (calls: number) => Promise<void>>>>,
  rounds: number,
  budget: number,
  clock: Clock,
): Promise<Partial<Record<Contender, number[]>>> {
  const names = Object.keys(contenders) as Contender[];
  const timed = async (name: Contender, calls: number): Promise<number> => {
    const start = clock();
    await contenders[name]?.(calls);
    return (clock() - start) / calls;
  };
  const calls: Partial<Record<Contender, number>> = {};
  for (const name of names) {
    await timed(name, 1);
    const once = await timed(name, 1);
    const wanted = Math.round(CALLS.milliseconds / once);
    calls[name] = Math.min(CALLS.most, Math.max(CALLS.least, wanted));
  }
  const times: Partial<Record<Contender, number[]>> = {};
  const begin = performance.now();
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const time = await timed(name, calls[name] ?? 1);
      times[name] = [...(times[name] ?? []), time];
    }
    if (performance.now() - begin > budget) break;
  }
  return times;
}
