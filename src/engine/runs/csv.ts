import type { StepMetrics } from "./rollouts/records.ts";
import type { RunPart } from "./run-parts.ts";

/**
 * Metrics as CSV: one row per step, `step` first, then one column per metric in the order of first appearance. A
 * missing value is an empty cell; NaN and infinities are written by name.
 * @param parts of the run; the last column says which program computed a step, if there are several parts
 */
export function metricsCsv(rows: readonly StepMetrics[], parts: readonly RunPart[] = []): string {
  const names = new Set(["step"]);
  for (const row of rows) for (const name of Object.keys(row)) names.add(name);
  const columns = [...names];
  const by = ({ step = 0 }: StepMetrics) => parts.find(({ first, last }) => first <= step && step <= last)?.by;
  const named = parts.length > 0;
  const lines = [(named ? [...columns, "computed_by"] : columns).map(cell).join(",")];
  for (const row of rows) {
    const values = columns.map((name) => (row[name] === undefined ? "" : String(row[name])));
    lines.push((named ? [...values, cell(by(row))] : values).join(","));
  }
  return `${lines.join("\n")}\n`;
}

/**
 * A table of named columns; null, undefined and missing values are empty cells. Text that a spreadsheet would run as a
 * formula gets a leading apostrophe, as OWASP recommends; JSON, Arrow and Parquet files keep it as it is.
 */
export function tableCsv(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const line = (cells: readonly unknown[]): string => cells.map(cell).join(",");
  return `${[columns, ...rows].map(line).join("\n")}\n`;
}

function cell(value: unknown): string {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value ?? "");
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
