/** Rows as text, one line each. */
import type { BenchRow } from "../row.ts";

export function rowLine(row: BenchRow): string {
  const { own_ms, stock_ms, ratio_stock, ratio_range } = row;
  const parts = [row.case.padEnd(60), `${own_ms.toFixed(2).padStart(9)} ms`];
  if (stock_ms !== undefined && ratio_stock !== undefined && ratio_range !== undefined) {
    const [low, high] = ratio_range;
    parts.push(`stock ${stock_ms.toFixed(2).padStart(9)} ms`);
    parts.push(`x${ratio_stock.toFixed(2).padStart(6)} (${low.toFixed(2)} to ${high.toFixed(2)})`);
  }
  const peers = [
    ["jax-js", row.ratio_jaxjs],
    ["ort", row.ratio_ort],
    ["of greedy", row.ratio_greedy],
    ["of one row", row.ratio_group],
  ] as const;
  for (const [name, ratio] of peers) if (ratio !== undefined) parts.push(`${name} x${ratio.toFixed(2)}`);
  if (row.ort_error !== undefined) parts.push(`ort's result differs by ${row.ort_error.toPrecision(2)}`);
  if (row.peak_fraction !== undefined) parts.push(`${(100 * row.peak_fraction).toFixed(1)} % of peak`);
  return parts.join("  ");
}
