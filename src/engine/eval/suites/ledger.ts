/** Evaluations of the same rows in one table: a line a row, a column an evaluation, the rows that differ most first. */
import { LabError } from "../../errors.ts";
import type { AnsweredItem, Suite, SuiteItem } from "./suite.ts";

/** One system of one evaluation. */
export interface LedgerColumn {
  /** Name of the evaluation and the system. */
  readonly name: string;
  readonly suite: Suite;
  readonly rows: readonly AnsweredItem[];
}

export interface LedgerRow {
  readonly item: SuiteItem;
  /** Score by column; null where the suite has none for a single row. */
  readonly scores: readonly (number | null)[];
  /** Largest minus smallest score. */
  readonly spread: number;
}

/** @throws LabError("bad-input") naming an evaluation of other rows */
export function ledgerRows(columns: readonly LedgerColumn[]): LedgerRow[] {
  const [first] = columns;
  if (first === undefined) return [];
  for (const { name, rows } of columns) {
    const same = rows.length === first.rows.length && rows.every(({ item }, at) => sameRow(item, first.rows[at]?.item));
    if (same) continue;
    throw new LabError("bad-input", `${name} is of other rows than ${first.name}; a table needs the same rows`, {
      subject: name,
    });
  }
  const table = first.rows.map(({ item }, at): LedgerRow => {
    const scores = columns.map(({ suite, rows }) => suite.score(rows[at] as AnsweredItem));
    const known = scores.filter((score) => score !== null);
    return { item, scores, spread: known.length === 0 ? 0 : Math.max(...known) - Math.min(...known) };
  });
  return table.sort((a, b) => b.spread - a.spread);
}

/** The table as CSV: row, picture, text, a score a column, spread. */
export function ledgerCsv(columns: readonly LedgerColumn[]): string {
  const head = ["row", "picture", "text", ...columns.map(({ name }) => name), "spread"];
  const body = ledgerRows(columns).map(({ item, scores, spread }) => [
    item.id,
    item.imageId,
    item.text,
    ...scores.map((score) => score ?? ""),
    spread,
  ]);
  return [head, ...body].map((line) => `${line.map(cell).join(",")}\n`).join("");
}

function sameRow(a: SuiteItem, b: SuiteItem | undefined): boolean {
  return a.id === b?.id && a.imageId === b.imageId;
}

/** Quoted where needed; a text that a spreadsheet would run as a formula is kept text. */
function cell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
