import type { StepMetrics } from "./rollouts/records.ts";

/**
 * Metrics as CSV: one row per step, `step` first, then one column per metric in the order of first appearance. A
 * missing value is an empty cell; NaN and infinities are written by name.
 */
export function metricsCsv(rows: readonly StepMetrics[]): string {
  const names = new Set(["step"]);
  for (const row of rows) for (const name of Object.keys(row)) names.add(name);
  const columns = [...names];
  const lines = [columns.map(quote).join(",")];
  for (const row of rows)
    lines.push(columns.map((name) => (row[name] === undefined ? "" : String(row[name]))).join(","));
  return `${lines.join("\n")}\n`;
}

/** A table of named columns; null, undefined and missing values are empty cells. */
export function tableCsv(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const line = (cells: readonly unknown[]): string => cells.map((cell) => quote(String(cell ?? ""))).join(",");
  return `${[columns, ...rows].map(line).join("\n")}\n`;
}

function quote(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
