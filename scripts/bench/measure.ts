/** Timing of two contenders in turn, so that both meet the same load of a shared machine. */

/** One line of a table; `ratio_stock` is how many times faster than the stock ops. */
export interface BenchRow {
  readonly suite: string;
  readonly case: string;
  readonly adapter: string;
  readonly own_ms: number;
  readonly stock_ms: number;
  readonly ratio_stock: number;
  /** Lowest and highest ratio of the rounds. */
  readonly ratio_range: readonly [number, number];
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

/** Medians of both lists, and of the ratios of neighbouring rounds. */
export function benchRow(
  names: Pick<BenchRow, "suite" | "case" | "adapter">,
  own: readonly number[],
  stock: readonly number[],
): BenchRow {
  const ratios = own.map((time, i) => (stock[i] as number) / time);
  return {
    ...names,
    own_ms: median(own),
    stock_ms: median(stock),
    ratio_stock: median(ratios),
    ratio_range: [Math.min(...ratios), Math.max(...ratios)],
    rounds: own.length,
  };
}

export function printRow(row: BenchRow, json: boolean): void {
  const [low, high] = row.ratio_range;
  const text = [
    row.case.padEnd(44),
    `${row.own_ms.toFixed(2).padStart(9)} ms`,
    `stock ${row.stock_ms.toFixed(2).padStart(9)} ms`,
    `${row.ratio_stock.toFixed(2).padStart(6)} times faster (${low.toFixed(2)} to ${high.toFixed(2)})`,
  ].join("  ");
  process.stdout.write(`${json ? JSON.stringify(row) : text}\n`);
}
